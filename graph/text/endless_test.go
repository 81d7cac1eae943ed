package text

import (
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// endings are scripts, with the command at which they never end.
var endings = map[string]string{
	"while true; do ./sync; sleep 60; done":              "while true",
	"set -e\nwhile :\ndo\n  ./sync || echo failed\ndone": "while :",
	"until false; do ./sync; done":                       "until false",
	"while sleep 60; do ./sync; done":                    "while sleep 60",
	"for ((;;)); do ./sync; done":                        "while true",
	"run() { while true; do ./sync; done; }; run":        "while true",
	"while true; do date; done | tee /log":               "while true",
	"./sync && tail -f /dev/null":                        "tail -f /dev/null",
	"[ -n \"$A\" ] || exit 1; exec sleep infinity":       "sleep infinity",
	"sleep 365d": "sleep 365d",
	"if [ -n \"$A\" ]; then sleep inf; else tail -F log; fi":                 "sleep inf",
	"pgbouncer /p.ini & ./sync; wait":                                        "pgbouncer /p.ini",
	"case $A in (":                                                           "",
	"sleep 60":                                                               "",
	"pgbouncer /p.ini & ./sync":                                              "",
	"pgbouncer /p.ini & P=$!; ./sync; kill $P; wait":                         "",
	"./sync || sleep infinity":                                               "",
	"if ./sync; then exit 0; fi; sleep infinity":                             "",
	"if [ -n \"$DEBUG\" ]; then sleep infinity; fi; ./sync":                  "",
	"while true; do ./sync && break; sleep 60; done":                         "",
	"while true; do if ./sync; then exit; fi; done":                          "",
	"while [ ! -f /done ]; do sleep 1; done":                                 "",
	"until ./sync; do sleep 1; done":                                         "",
	"timeout 60 sh -c 'while true; do ./sync; done'":                         "",
	"echo 'sleep infinity'":                                                  "",
	"python -c 'while True:\n  sync()\n'":                                    "while True",
	"python -c 'while True:\n  if sync():\n    break\n'":                     "",
	"python3 /app.py # sleep infinity":                                       "",
	"kubectl run x --command -- sh -c 'sleep infinity'":                      "",
	"end() { exit 0; }; while true; do ./sync && end; done":                  "",
	". /lib.sh; while true; do ./sync && end; done":                          "",
	"while true; do case $N in 30) exit $RC;; esac; done":                    "",
	"filebeat setup -c /f.yml":                                               "",
	"envoy --mode validate -c /e.yaml":                                       "",
	"kubectl delete pod proxy":                                               "",
	"cloud-sql-proxy --quitquitquit a & ./sync; curl localhost/quitquitquit": "",
}

func TestNeverEnds(t *testing.T) {
	base := knowledge.Default()
	for script, want := range endings {
		if got := NeverEnds(base, sh(script)); got.Command != want {
			t.Errorf("%s\nnever ends at %q, not %q", script, got.Command, want)
		}
	}
}
