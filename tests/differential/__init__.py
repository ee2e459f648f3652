"""Judge the SDK's output with two versions of the official AG-UI client."""
