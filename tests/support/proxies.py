"""Runs nginx and Caddy on loopback, with the configurations of `examples/deploy`."""

from __future__ import annotations

import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.support.redis import free_port

FOLDER = Path(__file__).parents[2] / "examples" / "deploy"
HOST = "agents.example.com"
_SECONDS = 20.0

_NGINX = """\
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/agents.conf;
}}
"""


@dataclass(frozen=True)
class Proxy:
    """A proxy that runs.

    Attributes:
        port: Where it listens.
        trust: Trusts its certificate.
    """

    port: int
    trust: ssl.SSLContext


def changed(text: str, changes: Mapping[str, str]) -> str:
    """Return a configuration with other values; each must be in it."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text


def certificate(folder: Path) -> ssl.SSLContext:
    """Write a certificate of the host and its key; return what trusts it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, HOST)])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "host.pem").write_bytes(signed.public_bytes(pem))
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (folder / "host.key").write_bytes(secret)
    return ssl.create_default_context(cafile=str(folder / "host.pem"))


@contextmanager
def nginx(folder: Path, backend: int, read_timeout: str = "60s") -> Iterator[Proxy]:
    """Run nginx in front of a port."""
    port, trust = free_port(), certificate(folder)
    written = changed(
        (FOLDER / "nginx.conf").read_text("utf-8"),
        {
            "server 127.0.0.1:8000;": f"server 127.0.0.1:{backend};",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{port} ssl http2;",
            "/etc/ssl/agents.example.com": f"{folder}/host",
            "proxy_read_timeout 60s;": f"proxy_read_timeout {read_timeout};",
        },
    )
    (folder / "agents.conf").write_text(written, "utf-8")
    (folder / "nginx.conf").write_text(_NGINX.format(folder=folder), "utf-8")
    with _running(["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")], folder, port):
        yield Proxy(port, trust)


@contextmanager
def caddy(folder: Path, backend: int, read_timeout: str = "60s") -> Iterator[Proxy]:
    """Run Caddy in front of a port."""
    port, trust = free_port(), certificate(folder)
    written = changed(
        (FOLDER / "Caddyfile").read_text("utf-8"),
        {
            f"\n{HOST} {{": f"\nhttps://{HOST}:{port} {{\n\tbind 127.0.0.1\n"
            f"\ttls {folder}/host.pem {folder}/host.key",
            "read_timeout 60s": f"read_timeout {read_timeout}",
        },
    )
    (folder / "Caddyfile").write_text("{\n\tadmin off\n\tauto_https off\n}\n" + written, "utf-8")
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]
    with _running(command, folder, port, GATEWAY=f"127.0.0.1:{backend}"):
        yield Proxy(port, trust)


PROXIES: dict[str, Callable[..., AbstractContextManager[Proxy]]] = {"nginx": nginx, "caddy": caddy}


def installed(name: str) -> str | None:
    """Return the path of a proxy; Debian's nginx is not on the path of users."""
    return shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@contextmanager
def _running(command: list[str], folder: Path, port: int, **more: str) -> Iterator[None]:
    executable = installed(command[0])
    assert executable is not None
    env = os.environ | {"XDG_DATA_HOME": str(folder), "XDG_CONFIG_HOME": str(folder), **more}
    log = folder / "log"
    with log.open("wb") as output:
        process = subprocess.Popen([executable, *command[1:]], env=env, stdout=output, stderr=output)
        try:
            await_port(port, process)
            yield
        finally:
            process.terminate()
            process.wait(_SECONDS)


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until something listens on a port."""
    deadline = time.monotonic() + _SECONDS
    while True:
        assert process.poll() is None, "the server ended"
        try:
            socket.create_connection(("127.0.0.1", port), _SECONDS).close()
        except OSError:
            assert time.monotonic() < deadline, "nothing listens"
            time.sleep(0.02)
        else:
            return
