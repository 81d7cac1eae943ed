package wave_test

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// endpoint is where a store or a service is reached.
type endpoint struct {
	object  string // what has to be healthy, such as StatefulSet/db; empty if it is outside
	host    string
	port    int
	schemes []string // of URLs; empty for brokers that are named host:port
	user    string
	path    string // name of the database
	word    string // what variables call it, such as DATABASE
	wait    string // command that succeeds when it is reachable, without the host
	secret  string // Secret that an operator writes for it
	key     string // of that Secret
}

func (e endpoint) url(g *generator) string {
	address := fmt.Sprintf("%s:%d", g.fqdn(e.host), e.port)
	if len(e.schemes) == 0 {
		return address
	}
	scheme := pick(g, e.schemes)
	switch {
	case e.user == "":
		return scheme + "://" + address
	case strings.HasPrefix(scheme, "jdbc:"):
		return fmt.Sprintf("%s://%s/%s?user=%s", scheme, address, e.path, e.user)
	}
	return fmt.Sprintf("%s://%s:secret@%s/%s", scheme, e.user, address, e.path)
}

// section is the word as files spell it.
func (e endpoint) section() string { return strings.ToLower(e.word) }

// telling is how a manifest shows an endpoint, or hides it. Two Pods that share their
// configuration show the same one.
type telling struct {
	form   string
	shown  bool   // the endpoint can be read in the manifests
	secret bool   // the endpoint is in a Secret, that two Pods can share
	reads  string // the object without which Pods do not start, if it is in the component
	show   func(*pod)
}

// form is one way to tell a Pod where something is.
type form struct {
	name   string
	shown  bool
	secret bool
	weight int
	fits   func(p *pod, e endpoint) bool // nil fits all
	tell   func(g *generator, owner string, e endpoint) (show func(*pod), reads string)
}

func callsByHTTP(p *pod, e endpoint) bool {
	return p.kind == "Job" && e.schemes != nil && e.schemes[0] == "http" && len(p.command) == 0
}

func hasOperatorSecret(_ *pod, e endpoint) bool { return e.secret != "" }

// forms are all ways, with how usual they are.
var forms = []form{
	{name: "URL in a variable", shown: true, weight: 12, tell: tellURL},
	{name: "host in a variable", shown: true, weight: 9, tell: tellHost},
	{name: "bare word in a variable", shown: true, weight: 5, tell: tellBareWord},
	{name: "argument", shown: true, weight: 5, tell: tellArgument},
	{name: "variable from a ConfigMap", shown: true, weight: 8, tell: tellConfigMap},
	{name: "YAML file", shown: true, weight: 7, tell: tellYAML},
	{name: "JSON file", shown: true, weight: 4, tell: tellJSON},
	{name: "INI file", shown: true, weight: 5, tell: tellINI},
	{name: "readable Secret", shown: true, secret: true, weight: 7, tell: tellSecret},
	{name: "wait loop", shown: true, weight: 6, tell: tellWaitLoop},
	{name: "script", shown: true, weight: 20, fits: callsByHTTP, tell: tellScript},
	{name: "mounted script", shown: true, weight: 6, fits: callsByHTTP, tell: tellMountedScript},
	{name: "operator's Secret", shown: true, secret: true, weight: 40, fits: hasOperatorSecret, tell: tellOperatorSecret},
	{name: "ExternalSecret", secret: true, weight: 10, tell: tellExternalSecret},
	{name: "SealedSecret", secret: true, weight: 7, tell: tellSealedSecret},
	{name: "Secret made by hand", secret: true, weight: 5, tell: tellForeignSecret},
	{name: "Vault annotation", weight: 4, tell: tellVault},
	{name: "in the image", weight: 8, tell: tellNothing},
}

// tell draws a form in which the Pod's manifest tells of an endpoint.
func (g *generator) tell(p *pod, e endpoint) telling {
	var fitting []form
	sum := 0
	for _, f := range forms {
		if f.fits == nil || f.fits(p, e) {
			fitting = append(fitting, f)
			sum += f.weight
		}
	}
	drawn := g.rng.IntN(sum)
	for _, f := range fitting {
		if drawn -= f.weight; drawn < 0 {
			show, reads := f.tell(g, p.name, e)
			return telling{form: f.name, shown: f.shown, secret: f.secret, reads: reads, show: show}
		}
	}
	panic("the weights do not sum up")
}

// fqdn returns one of the names of a Service.
func (g *generator) fqdn(host string) string {
	if strings.Contains(host, ".") || !g.chance(20) {
		return host
	}
	return host + pick(g, []string{".ns", ".ns.svc", ".ns.svc.cluster.local"})
}

func tellURL(g *generator, _ string, e endpoint) (func(*pod), string) {
	name, url := e.word+pick(g, []string{"_URL", "_URI", "_DSN", "_ADDRESS"}), e.url(g)
	return func(p *pod) { p.setenv(name, url) }, ""
}

func tellHost(g *generator, _ string, e endpoint) (func(*pod), string) {
	host, port := g.fqdn(e.host), fmt.Sprint(e.port)
	return func(p *pod) {
		p.setenv(e.word+"_HOST", host)
		p.setenv(e.word+"_PORT", port)
		if e.path != "" {
			p.setenv(e.word+"_NAME", e.path)
			p.setenv(e.word+"_USER", e.user)
		}
	}, ""
}

func tellBareWord(g *generator, _ string, e endpoint) (func(*pod), string) {
	name := pick(g, []string{e.word, e.word + "_SERVICE", "DISCOVERY_" + e.word, e.word + "_MASTER", e.word + "_NODE"})
	return func(p *pod) { p.setenv(name, e.host) }, ""
}

func tellArgument(g *generator, _ string, e endpoint) (func(*pod), string) {
	flag := "--" + strings.ReplaceAll(e.section(), "_", "-")
	args := pick(g, [][]string{
		{flag + "-host=" + g.fqdn(e.host)},
		{flag + "-host", e.host},
		{flag + "-url=" + e.url(g)},
		{flag, fmt.Sprintf("%s:%d", e.host, e.port)},
	})
	return func(p *pod) { p.args = append(p.args, args...) }, ""
}

func tellConfigMap(g *generator, owner string, e endpoint) (func(*pod), string) {
	name, key, value := g.name(owner+"-env"), e.word+"_URL", e.url(g)
	if g.chance(40) {
		key, value = e.word+"_HOST", e.host
	}
	g.add(configMapManifest(name, key, value))
	return func(p *pod) { p.envFrom = append(p.envFrom, "{configMapRef: {name: "+name+"}}") }, "ConfigMap/" + name
}

// tellFile mounts a file with the text.
func tellFile(g *generator, owner, file, text string) (func(*pod), string) {
	name := g.name(owner + "-config")
	g.add(configMapManifest(name, file, text))
	return func(p *pod) { p.mount(fmt.Sprintf("/etc/app%d", len(p.mounts)), "configMap: {name: "+name+"}") }, "ConfigMap/" + name
}

func tellYAML(g *generator, owner string, e endpoint) (func(*pod), string) {
	text := fmt.Sprintf("server:\n  port: 8080\n%s:\n  host: %s\n  port: %d\n", e.section(), g.fqdn(e.host), e.port)
	if g.chance(30) {
		text = fmt.Sprintf("log: info\n%s:\n  url: %s\n", e.section(), e.url(g))
	}
	return tellFile(g, owner, pick(g, []string{"application.yaml", "config.yml"}), text)
}

func tellJSON(g *generator, owner string, e endpoint) (func(*pod), string) {
	text := fmt.Sprintf(`{"%s": {"host": "%s", "port": %d}}`, e.section(), g.fqdn(e.host), e.port)
	if g.chance(30) {
		text = fmt.Sprintf(`{"log": "info", "connections": {"%s": "%s"}}`, e.section(), e.url(g))
	}
	return tellFile(g, owner, pick(g, []string{"config.json", "appsettings.json"}), text)
}

func tellINI(g *generator, owner string, e endpoint) (func(*pod), string) {
	text := fmt.Sprintf("[%s]\nhost = %s\nport = %d\n", e.section(), g.fqdn(e.host), e.port)
	if g.chance(40) {
		text = fmt.Sprintf("app.%[1]s.host=%[2]s\napp.%[1]s.port=%[3]d\n", e.section(), e.host, e.port)
	}
	return tellFile(g, owner, pick(g, []string{"app.ini", "application.properties", "server.conf"}), text)
}

func tellSecret(g *generator, owner string, e endpoint) (func(*pod), string) {
	name, key, value := g.name(owner+"-credentials"), e.word+"_URL", e.url(g)
	field := fmt.Sprintf("stringData: {%s: %q}", key, value)
	if g.chance(50) {
		field = fmt.Sprintf("data: {%s: %s}", key, base64.StdEncoding.EncodeToString([]byte(value)))
	}
	g.add(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n%s\n", name, field))
	return readSecret(g, name, key), "Secret/" + name
}

// readSecret lets Pods read a Secret in one of the usual ways.
func readSecret(g *generator, name, key string) func(*pod) {
	way := g.rng.IntN(3)
	return func(p *pod) {
		switch way {
		case 0:
			p.readKey(key, name, key)
		case 1:
			p.envFrom = append(p.envFrom, "{secretRef: {name: "+name+"}}")
		default:
			p.mount(fmt.Sprintf("/secrets/%d", len(p.mounts)), "secret: {secretName: "+name+"}")
		}
	}
}

func tellExternalSecret(g *generator, owner string, e endpoint) (func(*pod), string) {
	name, key := g.name(owner+"-external"), e.word+"_URL"
	g.add(externalSecretManifest(name, key))
	return readSecret(g, name, key), "ExternalSecret/" + name
}

func tellSealedSecret(g *generator, owner string, e endpoint) (func(*pod), string) {
	name, key := g.name(owner+"-sealed"), e.word+"_URL"
	g.add(sealedSecretManifest(name, key))
	return readSecret(g, name, key), "SealedSecret/" + name
}

func tellForeignSecret(g *generator, owner string, e endpoint) (func(*pod), string) {
	return readSecret(g, g.name(owner+"-secret"), e.word+"_URL"), ""
}

func tellOperatorSecret(_ *generator, _ string, e endpoint) (func(*pod), string) {
	return func(p *pod) { p.readKey(e.word+"_URL", e.secret, e.key) }, ""
}

func tellVault(_ *generator, owner string, e endpoint) (func(*pod), string) {
	return func(p *pod) {
		if len(p.annotations) == 0 {
			p.annotations = []string{`vault.hashicorp.com/agent-inject: "true"`, "vault.hashicorp.com/role: " + owner}
		}
		p.annotations = append(p.annotations, fmt.Sprintf("vault.hashicorp.com/agent-inject-secret-%s: secret/data/%s", e.section(), owner))
	}, ""
}

func tellNothing(*generator, string, endpoint) (func(*pod), string) { return func(*pod) {}, "" }

func tellWaitLoop(g *generator, _ string, e endpoint) (func(*pod), string) {
	image := "busybox:1.36"
	loop := fmt.Sprintf("until nc -z %s %d; do echo waiting; sleep 2; done", g.fqdn(e.host), e.port)
	if e.wait != "" && g.chance(50) {
		image = pick(g, []string{"ghcr.io/acme/tools:3", "alpine:3.20"})
		loop = fmt.Sprintf("until %s %s; do sleep 1; done", e.wait, e.host)
	}
	return func(p *pod) { p.prepare(image, "sh", "-c", loop) }, ""
}

func tellScript(g *generator, _ string, e endpoint) (func(*pod), string) {
	script := httpScript(g, e)
	return func(p *pod) { p.command = []string{"sh", "-c", script} }, ""
}

func tellMountedScript(g *generator, owner string, e endpoint) (func(*pod), string) {
	name := g.name(owner + "-script")
	g.add(configMapManifest(name, "run.sh", "#!/bin/sh\nset -e\n"+httpScript(g, e)+"\n"))
	return func(p *pod) {
		p.command = []string{"sh", "/scripts/run.sh"}
		p.mount("/scripts", "configMap: {name: "+name+"}")
	}, "ConfigMap/" + name
}

func httpScript(g *generator, e endpoint) string {
	return fmt.Sprintf(pick(g, []string{
		"curl -fsS -X POST %s/api/v1/setup",
		"curl -sf --retry 20 %s/admin/import -d @/data/seed.json",
		"until curl -sf %s/healthz; do sleep 3; done; echo ready",
		"wget -qO- %s/internal/bootstrap",
	}), e.url(g))
}
