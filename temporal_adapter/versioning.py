"""Worker Versioning, as a user configures it on the plugin: the build that a worker is, and where its runs go.

Temporal routes runs to builds; nothing here does. A run moves to a newer build by going on there as a new Temporal run,
which is its own doing (`execution`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from temporalio.common import VersioningBehavior as TemporalBehavior
from temporalio.common import WorkerDeploymentVersion
from temporalio.worker import WorkerDeploymentConfig

from temporal_adapter.definitions import ConfigurationError

VersioningBehavior = Literal["pinned", "auto_upgrade"]
"""Where a run goes when another build becomes current: it stays on the build it began on, or goes over by itself."""

_BEHAVIORS = {"pinned": TemporalBehavior.PINNED, "auto_upgrade": TemporalBehavior.AUTO_UPGRADE}
_LONGEST_NAME = 255  # bytes


@dataclass(frozen=True, slots=True)
class Versioning:
    """What a plugin was told of Worker Versioning.

    Attributes:
        deployment: The build that its workers are, and what its runs do by default; None without versioning.
        moves: Whether runs move to a newer build at a checkpoint.
    """

    deployment: WorkerDeploymentConfig | None
    moves: bool

    def of_worker(self, config: Mapping[str, Any]) -> WorkerDeploymentConfig | None:
        """Return the deployment options of a worker that was made with these options.

        Raises:
            ConfigurationError: Worker and plugin both have some, or neither has and runs are to move.
        """
        given: WorkerDeploymentConfig | None = config.get("deployment_config")
        if self.deployment is None:
            if self.moves and not (given and given.use_worker_versioning):
                raise ConfigurationError(
                    "move_waiting_runs needs Worker Versioning, which this worker does not use: give the plugin "
                    "deployment_name and build_id too."
                )
            return given
        for option in ("deployment_config", "build_id", "use_worker_versioning"):
            if config.get(option):
                raise ConfigurationError(
                    f"The worker has {option}, and its AgentFrameworkPlugin deployment_name and build_id: which of the "
                    "two says what build it is? Give one of them: the plugin's, or the worker's deployment_config."
                )
        return self.deployment


def versioning(
    deployment_name: str | None, build_id: str | None, default_behavior: VersioningBehavior | None, moves: bool
) -> Versioning:
    """Return what a plugin's arguments say.

    Raises:
        ConfigurationError: They say only half of it, or what Temporal would not take.
    """
    behavior = "pinned" if default_behavior is None else default_behavior
    if behavior not in _BEHAVIORS:
        raise ConfigurationError(
            f"default_versioning_behavior must be one of {get_args(VersioningBehavior)}, not {default_behavior!r}."
        )
    if behavior == "auto_upgrade" and moves:
        raise ConfigurationError(
            "move_waiting_runs is for pinned runs: those of default_versioning_behavior='auto_upgrade' go over to the "
            "newer build by themselves. Give one of the two."
        )
    if deployment_name is None and build_id is None:
        if default_behavior is not None:
            raise ConfigurationError(
                "default_versioning_behavior says what runs do when another build of the deployment becomes current: "
                "give deployment_name and build_id too, or neither of the three."
            )
        return Versioning(None, moves)
    if build_id is None:
        raise ConfigurationError(
            f"deployment_name {deployment_name!r} needs a build_id, which tells this release from others, such as the "
            "commit or the image's tag: build_id='2.4.0'."
        )
    if deployment_name is None:
        raise ConfigurationError(
            f"build_id {build_id!r} needs a deployment_name, which all releases of these workers have in common: "
            "deployment_name='expenses'."
        )
    _check_name("deployment_name", deployment_name, without=".:")
    _check_name("build_id", build_id)
    version = WorkerDeploymentVersion(deployment_name, build_id)
    deployment = WorkerDeploymentConfig(version, use_worker_versioning=True)
    deployment.default_versioning_behavior = _BEHAVIORS[behavior]
    return Versioning(deployment, moves)


def _check_name(argument: str, name: Any, without: str = "") -> None:
    """See that Temporal takes a name: a worker with another one polls for ever, and nobody is told."""
    wrong = None
    if not isinstance(name, str) or not name.strip():
        wrong = "it must be a text that is not empty"
    elif found := [char for char in without if char in name]:
        wrong = f"it must not have {found[0]!r} in it"
    elif name.startswith("__"):
        wrong = "names that begin with '__' are Temporal's own"
    elif len(name.encode()) > _LONGEST_NAME:
        wrong = f"it must not be longer than {_LONGEST_NAME} bytes"
    if wrong is not None:
        raise ConfigurationError(f"{argument} {name!r} is not usable: {wrong}.")
