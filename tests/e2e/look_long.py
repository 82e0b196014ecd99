# timeout: 3600
# long
"""hpctop look on the programs of tests/field, started without the recorder: the right ranks are named in at least 80 %
of those that hang, and no healthy one is said to hang."""
import os
import subprocess

from common import TOP, check, end

done = subprocess.run([os.path.join(TOP, "tests", "field", "look.py"), "-j", "2", "--least", "80"], stdout=subprocess.PIPE,
                      stderr=subprocess.STDOUT, text=True, errors="replace")
print(done.stdout)
check("look at programs of the field", done.returncode == 0, done.stdout.splitlines()[-1:])
end()
