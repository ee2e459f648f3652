"""Test which region a request to AWS is signed for."""

from __future__ import annotations

import pytest

pytest.importorskip("botocore", reason="the extra `bedrock` is not installed")

from botocore.session import get_session

from agui_reasoning.gateway._signing import _region


def test_the_region_is_that_of_the_address_first() -> None:
    hosts = {
        "https://bedrock-runtime.us-gov-west-1.amazonaws.com": "us-gov-west-1",
        "https://bedrock-runtime-fips.ca-central-1.amazonaws.com": "ca-central-1",
        "https://bedrock-mantle.eu-north-1.api.aws/anthropic": "eu-north-1",
        "https://vpce-1-a.bedrock-runtime.ap-southeast-2.vpce.amazonaws.com": "ap-southeast-2",
    }
    assert {host: _region(get_session(), host) for host in hosts} == hosts
