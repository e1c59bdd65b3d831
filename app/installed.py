"""Whether this interpreter has what Eyrie needs, in versions that it works with. Read before anything is installed."""


def complete(project, extras):
    """Whether every requirement in the pyproject.toml `project` is met, as in an environment that the user made.

    `extras`: optional dependencies that are needed as well.
    """
    import tomllib
    from importlib import metadata

    table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
    wanted = sum((table["optional-dependencies"][extra] for extra in extras), table["dependencies"])
    try:
        from packaging.requirements import Requirement

        needs = [need for need in map(Requirement, wanted) if need.marker is None or need.marker.evaluate()]
        return all(need.specifier.contains(metadata.version(need.name), prereleases=True) for need in needs)
    except ImportError:  # of packaging, or a package is not there
        return False
