"""Switches that HTA reads from the environment, once a process; "1" is on."""
from __future__ import annotations

import os
from typing import Optional

HTA_DISABLE_NS_ROUNDING_ENV = "HTA_DISABLE_NS_ROUNDING"
HTA_DISABLE_CG_DEPTH_ENV = "HTA_DISABLE_CG_DEPTH"
CP_LAUNCH_EDGE_ENV = "CRITICAL_PATH_ADD_ZERO_WEIGHT_LAUNCH_EDGE"
CP_LAUNCH_EDGE_SHOW_ENV = "CRITICAL_PATH_SHOW_ZERO_WEIGHT_LAUNCH_EDGE"
CP_STRICT_NEG_WEIGHT_CHECK_ENV = "CRITICAL_PATH_STRICT_NEGATIVE_WEIGHT_CHECKS"
# variable: the name of its function
_OPTIONS = {
    HTA_DISABLE_NS_ROUNDING_ENV: "disable_ns_rounding",
    HTA_DISABLE_CG_DEPTH_ENV: "disable_call_graph_depth",
    CP_LAUNCH_EDGE_ENV: "critical_path_add_zero_weight_launch_edges",
    CP_LAUNCH_EDGE_SHOW_ENV: "critical_path_show_zero_weight_launch_edges",
    CP_STRICT_NEG_WEIGHT_CHECK_ENV: "critical_path_strict_negative_weight_check",
}


class HTAEnvOptions:
    """The switches of this process: HTAEnvOptions.instance(). Each has a function, and one that sets it.

    >>> from kino.hta.configs.env_options import HTAEnvOptions
    >>> HTAEnvOptions.instance().disable_ns_rounding()
    False
    """

    _instance: Optional[HTAEnvOptions] = None

    def __init__(self) -> None:
        self._options: dict[str, bool] = {}
        self._initialize_options()

    def _initialize_options(self) -> None:
        self._options = {name: self._check_env_flag(name) for name in _OPTIONS}

    @classmethod
    def instance(cls) -> HTAEnvOptions:
        """The only one.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance() is HTAEnvOptions.instance()
        True
        """
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    def _get_env(self, name: str) -> Optional[str]:
        return os.environ.get(name)

    def _check_env_flag(self, name: str, default: str = "0") -> bool:
        value = self._get_env(name)
        return (default if value is None else value) == "1"

    def disable_ns_rounding(self) -> bool:
        """Are fractions of a microsecond kept? The engine then answers in ``hta-ns``.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().disable_ns_rounding()
        False
        """
        return self._options[HTA_DISABLE_NS_ROUNDING_ENV]

    def set_disable_ns_rounding(self, value: bool) -> None:
        """Sets it; for traces that are loaded from now on.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().set_disable_ns_rounding(False)
        """
        self._options[HTA_DISABLE_NS_ROUNDING_ENV] = value

    def disable_call_graph_depth(self) -> bool:
        """Is the depth of call stacks left out?

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().disable_call_graph_depth()
        False
        """
        return self._options[HTA_DISABLE_CG_DEPTH_ENV]

    def set_disable_call_graph_depth(self, value: bool) -> None:
        """Sets it.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().set_disable_call_graph_depth(False)
        """
        self._options[HTA_DISABLE_CG_DEPTH_ENV] = value

    def critical_path_add_zero_weight_launch_edges(self) -> bool:
        """Do critical paths get edges of weight 0 from launches to kernels?

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().critical_path_add_zero_weight_launch_edges()
        False
        """
        return self._options[CP_LAUNCH_EDGE_ENV]

    def set_critical_path_add_zero_weight_launch_edges(self, value: bool) -> None:
        """Sets it.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().set_critical_path_add_zero_weight_launch_edges(False)
        """
        self._options[CP_LAUNCH_EDGE_ENV] = value

    def critical_path_show_zero_weight_launch_edges(self) -> bool:
        """Are these edges in overlaid traces?

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().critical_path_show_zero_weight_launch_edges()
        False
        """
        return self._options[CP_LAUNCH_EDGE_SHOW_ENV]

    def set_critical_path_show_zero_weight_launch_edges(self, value: bool) -> None:
        """Sets it.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().set_critical_path_show_zero_weight_launch_edges(False)
        """
        self._options[CP_LAUNCH_EDGE_SHOW_ENV] = value

    def critical_path_strict_negative_weight_check(self) -> bool:
        """Do edges with a weight below 0 make the graph invalid?

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().critical_path_strict_negative_weight_check()
        False
        """
        return self._options[CP_STRICT_NEG_WEIGHT_CHECK_ENV]

    def set_critical_path_strict_negative_weight_check(self, value: bool) -> None:
        """Sets it.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().set_critical_path_strict_negative_weight_check(False)
        """
        self._options[CP_STRICT_NEG_WEIGHT_CHECK_ENV] = value

    def get_options_str(self) -> str:
        """All of them, a line each.

        >>> from kino.hta.configs.env_options import HTAEnvOptions
        >>> HTAEnvOptions.instance().get_options_str().splitlines()[0]
        'disable_ns_rounding=False, HTA_DISABLE_NS_ROUNDING=unset'
        """
        return "\n".join(f"{option}={self._options[name]}, {name}={self._get_env(name) or 'unset'}"
                         for name, option in _OPTIONS.items())


def disable_ns_rounding() -> bool:
    """HTAEnvOptions.disable_ns_rounding of this process.

    >>> from kino.hta.configs.env_options import disable_ns_rounding
    >>> disable_ns_rounding()
    False
    """
    return HTAEnvOptions.instance().disable_ns_rounding()


def disable_call_graph_depth() -> bool:
    """HTAEnvOptions.disable_call_graph_depth of this process.

    >>> from kino.hta.configs.env_options import disable_call_graph_depth
    >>> disable_call_graph_depth()
    False
    """
    return HTAEnvOptions.instance().disable_call_graph_depth()


def critical_path_add_zero_weight_launch_edges() -> bool:
    """HTAEnvOptions.critical_path_add_zero_weight_launch_edges of this process.

    >>> from kino.hta.configs.env_options import critical_path_add_zero_weight_launch_edges
    >>> critical_path_add_zero_weight_launch_edges()
    False
    """
    return HTAEnvOptions.instance().critical_path_add_zero_weight_launch_edges()


def critical_path_show_zero_weight_launch_edges() -> bool:
    """HTAEnvOptions.critical_path_show_zero_weight_launch_edges of this process.

    >>> from kino.hta.configs.env_options import critical_path_show_zero_weight_launch_edges
    >>> critical_path_show_zero_weight_launch_edges()
    False
    """
    return HTAEnvOptions.instance().critical_path_show_zero_weight_launch_edges()


def critical_path_strict_negative_weight_check() -> bool:
    """HTAEnvOptions.critical_path_strict_negative_weight_check of this process.

    >>> from kino.hta.configs.env_options import critical_path_strict_negative_weight_check
    >>> critical_path_strict_negative_weight_check()
    False
    """
    return HTAEnvOptions.instance().critical_path_strict_negative_weight_check()


def get_options() -> str:
    """HTAEnvOptions.get_options_str of this process.

    >>> from kino.hta.configs.env_options import get_options
    >>> len(get_options().splitlines())
    5
    """
    return HTAEnvOptions.instance().get_options_str()
