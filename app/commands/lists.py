"""`ridgepoint gpus`, `networks`, `hosts` and `clusters`.

The tables are imported when a command runs: the help does not need them.
"""

from __future__ import annotations

from typing import Annotated

import typer


def gpus(
    name: Annotated[
        str | None, typer.Argument(help="Show all figures of this GPU, with sources.")
    ] = None,
) -> None:
    """List the GPUs, or show all figures of one GPU."""
    from app.report import listings

    listings.one_gpu(name) if name else listings.all_gpus()


def networks() -> None:
    """List the built-in networks with their sizes."""
    from app.report import listings

    listings.all_networks()


def hosts(
    name: Annotated[
        str | None,
        typer.Argument(help="Show all figures of this host, or of a host's file, with sources."),
    ] = None,
) -> None:
    """List the host CPUs with their launch costs, or show all figures of one host."""
    from app.report.hosts import all_hosts, one_host

    one_host(name) if name else all_hosts()


def clusters() -> None:
    """List the built-in clusters of GPUs."""
    from app.report.parallel import all_clusters

    all_clusters()
