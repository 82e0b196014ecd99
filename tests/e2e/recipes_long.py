# timeout: 900
# long
"""The recipes for conda and EasyBuild, read by their own tools from PyPI: rendered or parsed, checked for style, of this
version, and installing files that `make install` makes."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib"))
from common import check, end, make, run, skip
from exported import pip_python

TOP = os.environ["TOP"]
CONDA = os.path.join(TOP, "packaging/conda/recipe.yaml")
EASYBUILD = os.path.join(TOP, "packaging/easybuild/hpctop-%s-GCCcore-12.3.0.eb")
RENDER = """
import sys
import rattler_build
recipe = rattler_build.Stage0Recipe.from_yaml(open(sys.argv[1]).read())
variants = rattler_build.VariantConfig.from_yaml("c_compiler: [gcc]\\nc_stdlib: [sysroot]\\n")
for variant in recipe.render(variants):
    print(variant.recipe.to_dict() if hasattr(variant.recipe, "to_dict") else variant.recipe())
"""
PARSE = """
import json
import sys
from easybuild.framework.easyconfig.parser import EasyConfigParser
from easybuild.framework.easyconfig.style import check_easyconfigs_style
from easybuild.tools.options import set_up_configuration
set_up_configuration(args=["--modules-tool=EnvironmentModules", "--module-syntax=Tcl", "--ignore-osdeps", "--allow-use-as-root-and-accept-consequences"], silent=True)
print("style", check_easyconfigs_style(sys.argv[1:]))
print(json.dumps(EasyConfigParser(sys.argv[1]).get_config_dict()))
"""


def broken(path, name, old, new):
    """A copy of a recipe with a fault."""
    with open(path) as f:
        text = f.read()
    with open(name, "w") as out:
        out.write(text.replace(old, new))
    check("%s: the fault is planted" % name, old in text)
    return name


def conda(version):
    python = pip_python("conda", "import rattler_build", ["py-rattler-build"])
    if not python:
        skip("conda", "no Python here has rattler_build, and pip cannot get it")
        return
    r = run([python, "-c", RENDER, CONDA])
    check("conda: it renders", r.code == 0 and version in r.out, r)
    for what, old, new in (("an unknown key", "requirements:", "requirement:"), ("a name that is not set", "${{ version }}", "${{ nothing }}")):
        r = run([python, "-c", RENDER, broken(CONDA, "broken.yaml", old, new)])
        check("conda: %s is refused" % what, r.code != 0, r)


def easybuild(version):
    python = pip_python("easybuild", "import easybuild.framework, pycodestyle", ["--no-binary", "easybuild-framework", "easybuild-framework", "pycodestyle"])
    if not python:
        skip("easybuild", "no Python here has easybuild, and pip cannot get it")
        return
    path = EASYBUILD % version
    r = run([python, "-c", PARSE, path])
    check("easybuild: it is parsed, and its style is clean", r.code == 0 and r.out.startswith("style 0\n"), r)
    check("easybuild: of this version", '"version": "%s"' % version in r.out, r)
    r = run([python, "-c", PARSE, broken(path, "broken.eb", "name = 'hpctop'", "name='hpctop' ")])
    check("easybuild: bad style is found", "style 0\n" not in r.out, r)


def files(version):
    """Files that both promise are those of make install."""
    r = make("-pn", "install")
    lists = " ".join(re.findall(r"^FILES_(?:644|755) *:?= *(.*)$", r.out, re.M))
    for path in (CONDA, EASYBUILD % version):
        with open(path) as f:
            named = re.findall(r"(?:bin|lib)/[\w/.]+", f.read())
        named = [name for name in named if not name.startswith("bin/sh")]
        check("%s: it names installed files" % os.path.basename(path), named and all(name in lists for name in named), (named, lists))


with open(os.path.join(TOP, "trace/format/version.h")) as header:
    VERSION = re.search(r'HPCTOP_VERSION *"(.*)"', header.read()).group(1)
conda(VERSION)
easybuild(VERSION)
files(VERSION)
end()
