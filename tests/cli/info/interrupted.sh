# Ctrl-C while waiting for input: exit code 130, one line.
mkfifo pipe
python3 - <<'END'
import os, signal, subprocess, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # it is ignored in what runs in the background
keep = os.open("pipe", os.O_RDWR)
child = subprocess.Popen([os.environ["KINO"], "info", "-"], stdin=keep, stderr=subprocess.PIPE)
time.sleep(0.5)
child.send_signal(signal.SIGINT)
_, err = child.communicate(timeout=20)
print(child.returncode, err.decode().strip())
END
