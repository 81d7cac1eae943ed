package text

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/ladder-cmp/ladder/knowledge"
)

// waits are programs, with what they certainly wait for, or "?" with what may be a wait.
var waits = []struct {
	name      string
	program   Program
	restarted bool
	want      string
}{
	{"until", sh("until nc -z db 5432; do sleep 1; done; seed http://api"), false, "db"},
	{"until, looked up", sh("until nslookup db.data.svc; do echo waiting for web; sleep 2; done"), false, "db.data.svc (name)"},
	{"while not", sh("while ! nc -vz -w 2 db 5432; do :; done"), false, "db"},
	{"while not in brackets", sh("while ! (nc -z db 1 && nc -z mq 2); do sleep 1; done"), false, "db mq"},
	{"pipeline", sh("until curl -s http://api:8080/health | grep -q ok; do sleep 1; done"), false, "api"},
	{"pipeline for the opposite", sh("until curl -s http://api:8080/health | grep -qv ok; do sleep 1; done"), false, "?"},
	{"comparison", sh(`until [ "$(curl -s -o /dev/null -w '%{http_code}' http://api:8080)" = "200" ]; do sleep 1; done`), false, "api"},
	{"comparison with nothing", sh(`until [ "$(kubectl get deploy/old -o jsonpath='{.status.replicas}')" = "0" ]; do sleep 1; done`),
		false, "?"},
	{"comparison while", sh(`while [[ "$(kubectl get job x -o jsonpath='{.status.succeeded}')" != "1" ]]; do sleep 1; done`), false, "job/x"},
	{"bash", sh("until (echo > /dev/tcp/db/5432) 2>/dev/null; do sleep 1; done"), false, "db"},
	{"bash in bash", sh("until timeout 1 bash -c '</dev/tcp/db/5432'; do sleep 1; done"), false, "db"},
	{"endless", sh("while true; do pg_isready -q -h db -U web && break; sleep 1; done"), false, "db"},
	{"endless with if", sh("while :; do\n  if redis-cli -h cache ping; then\n    break\n  fi\n  sleep 1\ndone"), false, "cache"},
	{"endless, two ways out", sh("while :; do nc -z db 1 && break; [ $n -gt 9 ] && break; n=$((n+1)); sleep 1; done"), false, "?"},
	{"gives up", sh("until nc -z db 1; do n=$((n+1)); [ $n -gt 9 ] && break; sleep 1; done"), false, "?"},
	{"gives up in a function", sh("end() { exit 0; }\nuntil nc -z db 1; do n=$((n+1)); [ $n -gt 9 ] && end; sleep 1; done"), false, "?"},
	{"gives up in a case", sh("f() { until nc -z db 1; do case $n in 9) return 0;; esac; sleep 1; done; }; f"), false, "?"},
	{"gives up with a variable", sh("until nc -z db 1; do [ $n -gt 9 ] && exit $rc; sleep 1; done"), false, "?"},
	{"gives up and fails", sh("until nc -z db 1; do n=$((n+1)); [ $n -gt 9 ] && exit 1; sleep 1; done"), false, "db"},
	{"or", sh("until nc -z db 1 || [ $n -gt 9 ]; do sleep 1; done"), false, "?"},
	{"counted", sh("for i in 1 2 3; do curl http://db && break; sleep 5; done"), false, "?"},
	{"counted, fails", sh("for i in $(seq 60); do nc -z db 1 && exit 0; sleep 5; done; echo no; exit 1"), false, "db"},
	{"for each host", sh("for h in db mq; do until nc -z $h 80; do sleep 1; done; done"), false, "db mq"},
	{"function", sh("wait() { until nc -z $1 $2; do sleep 1; done; }\nwait db 80\nwait mq 81"), false, "db mq"},
	{"function that is not called", sh("wait() { until nc -z db 1; do sleep 1; done; }\nrun"), false, ""},
	{"condition", sh("if [ -n \"$WAIT\" ]; then until nc -z db 1; do sleep 1; done; fi"), false, "?"},
	{"condition before", sh("[ -f /skip ] && exit 0; until nc -z db 1; do sleep 1; done"), false, "?"},
	{"condition in a chain", sh("test -n \"$X\" && until nc -z db 1; do sleep 1; done; run"), false, "?"},
	{"behind a command", sh("cd /app && until nc -z db 1; do sleep 1; done && run"), false, "db"},
	{"in the background", sh("(until nc -z db 1; do sleep 1; done; seed) & run"), false, "?"},
	{"time limit, ignored", sh("timeout 60 sh -c 'until nc -z db 1; do sleep 1; done'; run"), false, "?"},
	{"time limit, fails", sh("timeout 60 sh -c 'until nc -z db 1; do sleep 1; done' && run"), false, "db"},
	{"ignored", sh("kubectl wait --for=condition=complete job/x || true; run"), false, "?"},
	{"not ignored", sh("kubectl wait --for=condition=complete job/x || exit 1; run"), false, "job/x"},
	{"goes on", sh("kubectl wait --for=condition=complete job/x; run"), false, "?"},
	{"fails at once", sh("set -eu\nkubectl -n shop wait --for condition=complete job/x --timeout 60s\nrun"), false, "shop/job/x"},
	{"gone", sh("kubectl wait --for=delete pod/x"), false, "?"},
	{"rollout", Program{Command: strings.Fields("kubectl rollout status deploy web -n shop")}, false, "shop/deploy/web"},
	{"selector", Program{Command: strings.Fields("kubectl wait pods -l app=db,tier=x --for=condition=Ready")}, false, "pods[app=db tier=x]"},
	{"image", Program{Image: "registry.example.com/groundnuty/k8s-wait-for:v2", Arguments: []string{"job-wr", "x"}}, false, "job/x"},
	{"image, selector", Program{Image: "groundnuty/k8s-wait-for:v2", Arguments: []string{"pod", "-lapp=db"}}, false, "pod[app=db]"},
	{"entrypoint", Program{Image: "x/kubernetes-entrypoint:1", Command: []string{"kubernetes-entrypoint"}, Variables: map[string]string{
		"DEPENDENCY_SERVICE": "data:db,web", "DEPENDENCY_JOBS_JSON": `[{"namespace":"a","name":"b"},{"labels":{"c":"d"}}]`,
		"DEPENDENCY_CUSTOM_RESOURCE": `[{"kind":"Foo","name":"f"}]`,
	}}, false, "Foo/f Job[c=d] Service/web a/Job/b data/Service/db"},
	{"wait-for-it", sh("/wait-for-it.sh db:80"), false, "db"},
	{"wait-for-it, command", sh("/wait-for-it.sh db:80 -- run --to web:80"), false, "?"},
	{"wait-for-it, strict", sh("/wait-for-it.sh -q db:80 --strict -- run --to web:80"), false, "db"},
	{"dockerize", Program{Command: strings.Fields(
		"dockerize -wait tcp://db:5432 -wait http://user@web:80/x -timeout 60s run --to http://api:80")}, false, "db web"},
	{"wait4x", Program{Command: strings.Fields("wait4x redis redis://cache:6379/0 --timeout 60s")}, false, "cache"},
	{"wait4x, inverted", Program{Command: strings.Fields("wait4x tcp db:80 --invert-check")}, false, "?"},
	{"variables", Program{Command: []string{"sh", "-c", "until nc -z ${DB_HOST:-x} ${PORT:-1}; do sleep 1; done"},
		Variables: map[string]string{"DB_HOST": "db"}}, false, "db"},
	{"default", sh("HOST=${HOST:-db}; until nc -z $HOST 1; do sleep 1; done"), false, "db"},
	{"user", sh("until mysqladmin ping -h db -u web -ppw --silent; do sleep 1; done"), false, "db"},
	{"URL", sh("until psql postgres://web:pw@a:1,b:2/api -c 'select 1'; do sleep 1; done"), false, "a b"},
	{"file", Program{Command: []string{"sh", "/scripts/wait.sh", "db"},
		Files: map[string]string{"/scripts/wait.sh": "#!/bin/sh\nuntil nc -z \"$1\" 1; do # not web\n  sleep 1\ndone\n"}}, false, "db"},
	{"here-document", sh("cat > /x <<EOF\nuntil nc -z web 1; do sleep 1; done\nEOF\nuntil nc -z db 1; do sleep 1; done"), false, "db"},
	{"no shell", Program{Command: []string{"python", "-c", "while True:\n  try_connect('db')\n  time.sleep(1)"}}, false, "?"},
	{"files", sh("for f in /sql/*; do psql -h db -f $f; done"), false, ""},
	{"reads", sh("while read f; do psql -h db -f $f; done"), false, ""},
	{"once", sh("nc -vz db 5432"), false, ""},
	{"once, restarted", sh("nc -vz db 5432"), true, "db"},
	{"once, restarted, goes on", sh("nc -vz db 5432; run"), true, "?"},
	{"once, in a condition", sh("if ! nc -z db 1; then echo no; exit 1; fi; run"), true, "db"},
	{"server", sh("nc -l 5432"), true, ""},
	{"applies", sh("kubectl apply -f x"), true, ""},
}

// sh returns a program with a script.
func sh(script string) Program { return Program{Command: []string{"sh", "-c", script}} }

func (t Target) String() string {
	s := t.Host + t.Kind
	if t.Namespace != "" {
		s = t.Namespace + "/" + s
	}
	if t.Name != "" {
		s += "/" + t.Name
	}
	if len(t.Labels) > 0 {
		var labels []string
		for _, key := range slices.Sorted(maps.Keys(t.Labels)) {
			labels = append(labels, key+"="+t.Labels[key])
		}
		s += fmt.Sprint(labels)
	}
	if t.IsResolved {
		s += " (name)"
	}
	return s
}

func TestWaits(t *testing.T) {
	for _, tt := range waits {
		tt.program.IsRestarted = tt.restarted
		var sure []string
		found := Waits(knowledge.Default(), tt.program)
		for _, w := range found {
			for _, target := range w.Targets {
				sure = append(sure, target.String())
			}
		}
		slices.Sort(sure)
		got := strings.Join(slices.Compact(sure), " ")
		if got == "" && len(found) > 0 {
			got = "?"
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
