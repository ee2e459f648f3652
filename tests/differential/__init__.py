"""The SDK's output, judged by the official AG-UI client in two versions."""
