package wave_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// need is a truth about a generated application: From does not become healthy, or as a
// Job does not succeed, before To is healthy. Objects are named Kind/name.
type need struct {
	From, To string
	Relation relation
	Form     string // how the manifests tell it
	Shown    bool   // whether the manifests tell it
}

// relation is a kind of need.
type relation string

const (
	serviceNeedsStore relation = "service needs store"
	serviceNeedsPeer  relation = "service needs peer"
	serviceNeedsJob   relation = "service needs Job"
	jobNeedsStore     relation = "Job needs store"
	jobNeedsService   relation = "Job needs service"
	jobNeedsJob       relation = "Job needs Job"
	podsRead          relation = "Pods read configuration"
	claimNeedsPods    relation = "PVC needs Pods" // only that they are applied: it is bound when they are scheduled
	neverHealthy      relation = "never healthy"  // such as a HorizontalPodAutoscaler without metrics
)

// relations are in the order in which they are shown.
var relations = []relation{serviceNeedsStore, serviceNeedsPeer, serviceNeedsJob, jobNeedsStore, jobNeedsService, jobNeedsJob,
	podsRead, claimNeedsPods, neverHealthy}

// migration says that Application uses wrong data if it starts before Job succeeds.
type migration struct {
	Job, Application string
	Shown            bool   // the manifests tell that it is one, and of which application
	Sign, Form       string // by what they tell it, and in which form the Job is told the database
}

// application is a component whose true needs are known, since it was made from them.
// The needs have no cycle, so that it converges in Argo CD's own order.
type application struct {
	Text       string
	Needs      []need
	Migrations []migration
	Workloads  []string // its stores and services
}

// generator makes one application.
type generator struct {
	rng      *rand.Rand
	stem     string // what the application is called
	used     map[string]bool
	app      application
	docs     []string
	pods     []*pod
	stores   []*store
	services []*service
}

// store is a database, broker, cache or object store.
type store struct {
	engine   engine
	endpoint endpoint
}

// service is a program of the application with a Service. It needs at startup only
// services that were made before it, so that the needs have no cycle.
type service struct {
	pod       *pod
	endpoint  endpoint
	stores    []use
	migration string // its migration Job
}

// use is how a service reaches a store.
type use struct {
	store    *store
	endpoint endpoint
	telling  telling
}

// generate returns the application of that number; the same for the same seed.
func generate(seed, number uint64) application {
	g := &generator{rng: rand.New(rand.NewPCG(seed, number)), used: map[string]bool{}}
	g.stem = pick(g, serviceNames)
	for range 1 + g.rng.IntN(3) {
		g.addStore()
	}
	isMonorepo := g.chance(30)
	for range 1 + g.rng.IntN(4) {
		g.addService(isMonorepo)
	}
	for i := range g.services {
		g.connect(i)
	}
	g.addJobs()
	g.addNoise()
	for _, p := range g.pods {
		g.add(p.manifest())
	}
	g.rng.Shuffle(len(g.docs), func(i, j int) { g.docs[i], g.docs[j] = g.docs[j], g.docs[i] })
	g.app.Text = strings.Join(g.docs, "---\n")
	return g.app
}

// pick draws one of the values.
func pick[T any](g *generator, values []T) T { return values[g.rng.IntN(len(values))] }

// chance is true in so many of 100 cases.
func (g *generator) chance(percent int) bool { return g.rng.IntN(100) < percent }

// name returns a name that no other object has, as similar as possible.
func (g *generator) name(name string) string {
	unique := name
	for i := 2; g.used[unique]; i++ {
		unique = fmt.Sprintf("%s-%d", name, i)
	}
	g.used[unique] = true
	return unique
}

// drawName draws a name that no other object has; %s in it is the application's.
func (g *generator) drawName(names []string) string {
	name := pick(g, names)
	if strings.Contains(name, "%s") {
		name = fmt.Sprintf(name, g.stem)
	}
	return g.name(name)
}

func (g *generator) add(manifests ...string) { g.docs = append(g.docs, manifests...) }

func (g *generator) need(from, to string, kind relation, how string, shown bool) {
	if to != "" {
		g.app.Needs = append(g.app.Needs, need{From: from, To: to, Relation: kind, Form: how, Shown: shown})
	}
}

// connectTo lets the Pods reach the endpoint, told in the way of t.
func (g *generator) connectTo(p *pod, e endpoint, t telling, kind relation) {
	t.show(p)
	g.need(p.object(), e.object, kind, t.form, t.shown)
	g.need(p.object(), t.reads, podsRead, t.form, true)
}

func (g *generator) addStore() {
	engine := pick(g, engines)
	word := engine.word
	if g.used["$"+word] {
		word = envName(g.stem) + "_" + word
	}
	word = strings.ReplaceAll(g.name("$" + word)[1:], "-", "_")
	name := g.drawName(engine.names)
	s := &store{engine: engine, endpoint: endpoint{host: name, port: engine.port, schemes: engine.schemes, word: word, wait: engine.wait}}
	g.stores = append(g.stores, s)
	switch {
	case g.chance(10):
		g.addOutside(s, name)
	case engine.resource != nil && g.chance(25):
		engine.resource(g, s, name)
		g.app.Workloads = append(g.app.Workloads, s.endpoint.object)
	default:
		g.addServer(s, name)
		g.app.Workloads = append(g.app.Workloads, s.endpoint.object)
	}
}

// addOutside makes a store that the component reaches, but does not contain.
func (g *generator) addOutside(s *store, name string) {
	switch g.rng.IntN(3) {
	case 0:
		s.endpoint.host = name + ".c9akciq32.eu-central-1.rds.amazonaws.com"
	case 1:
		s.endpoint.host = name + ".data.svc"
	default:
		g.add(fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %[1]s}\n"+
			"spec: {type: ExternalName, externalName: %[1]s.corp.example.com}\n", name))
	}
}

// addServer makes a store of the component's own Pods.
func (g *generator) addServer(s *store, name string) {
	workload := name
	if g.chance(20) { // a Service need not be called as what it selects
		workload = g.name(g.stem + pick(g, []string{"-node", "-server", "-primary", "-0"}))
	}
	p := &pod{kind: "StatefulSet", name: workload, app: workload, image: pick(g, s.engine.images), port: s.engine.port, serviceName: name}
	p.probe = fmt.Sprintf("tcpSocket: {port: %d}", s.engine.port)
	isHeadless := g.chance(30)
	if g.chance(20) {
		p.kind = "Deployment"
		if g.chance(60) {
			claim := g.name(workload + "-data")
			g.add(claimManifest(claim))
			p.mount("/data", "persistentVolumeClaim: {claimName: "+claim+"}")
			g.need("PersistentVolumeClaim/"+claim, p.object(), claimNeedsPods, "volume", true)
			g.need(p.object(), "PersistentVolumeClaim/"+claim, podsRead, "volume", true)
		}
	} else if g.chance(90) {
		p.claims = "data"
	}
	if s.engine.password != "" {
		g.setPassword(p, s.engine.password)
	}
	g.add(serviceManifest(name, workload, s.engine.port, isHeadless))
	s.endpoint.object = p.object()
	if isHeadless && p.kind == "StatefulSet" && g.chance(30) {
		s.endpoint.host = workload + "-0." + name
	}
	g.pods = append(g.pods, p)
}

// setPassword lets a server read its password from a Secret.
func (g *generator) setPassword(p *pod, variable string) {
	secret := g.name(p.name + pick(g, []string{"-auth", "-password", "-root"}))
	p.readKey(variable, secret, "password")
	switch g.rng.IntN(4) {
	case 0:
		g.add(externalSecretManifest(secret, "password"))
		g.need(p.object(), "ExternalSecret/"+secret, podsRead, "ExternalSecret", true)
	case 1:
		g.add(sealedSecretManifest(secret, "password"))
		g.need(p.object(), "SealedSecret/"+secret, podsRead, "SealedSecret", true)
	case 2:
		g.add(fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\nstringData: {password: hunter2}\n", secret))
		g.need(p.object(), "Secret/"+secret, podsRead, "readable Secret", true)
	}
}

func (g *generator) addService(isMonorepo bool) {
	name := g.drawName(serviceNames)
	workload := name
	if g.chance(15) {
		workload = g.name(name + pick(g, []string{"-app", "-server", "-deployment"}))
	}
	port := pick(g, []int{80, 3000, 8000, 8080, 9090})
	p := &pod{kind: "Deployment", name: workload, app: workload, port: port}
	p.image = fmt.Sprintf("ghcr.io/acme/%s:1.%d.0", name, g.rng.IntN(20))
	if isMonorepo {
		p.image = fmt.Sprintf("registry.example.com/%s/%s:2024.7", g.stem, g.stem)
		p.command = []string{"./" + name, "serve"}
	}
	p.probe = fmt.Sprintf("httpGet: {path: %s, port: %d}", pick(g, []string{"/", "/healthz", "/ready", "/actuator/health"}), port)
	g.add(serviceManifest(name, workload, port, false))
	g.pods = append(g.pods, p)
	g.app.Workloads = append(g.app.Workloads, p.object())
	g.services = append(g.services, &service{pod: p, endpoint: endpoint{
		object: p.object(), host: name, port: port, schemes: []string{"http"}, word: envName(name)}})
}

// connect draws which stores and peers a service needs at startup, and which peers it
// merely mentions.
func (g *generator) connect(i int) {
	s := g.services[i]
	for _, st := range g.stores {
		if !g.chance(70) {
			continue
		}
		e := st.endpoint
		if st.engine.database {
			e.path = strings.ReplaceAll(s.endpoint.host, "-", "_")
			e.user = pick(g, []string{e.path, g.stem, pick(g, serviceNames), "postgres", "root", "admin"})
		}
		t := g.tell(s.pod, e)
		s.stores = append(s.stores, use{st, e, t})
		g.connectTo(s.pod, e, t, serviceNeedsStore)
	}
	for _, peer := range g.services[:i] {
		if g.chance(25) {
			g.connectTo(s.pod, peer.endpoint, g.tell(s.pod, peer.endpoint), serviceNeedsPeer)
		}
	}
	for j, peer := range g.services {
		if j != i && g.chance(12) {
			g.mention(s.pod, peer.endpoint)
		}
	}
}

// mention names a peer that the Pods do not need to become healthy.
func (g *generator) mention(p *pod, e endpoint) {
	url := e.url(g)
	switch g.rng.IntN(5) {
	case 0:
		p.setenv("FRONTEND_URL", url)
	case 1:
		p.setenv("CORS_ALLOWED_ORIGINS", url+",https://www.example.com")
	case 2:
		p.setenv("OAUTH_REDIRECT_URI", url+"/callback")
	case 3:
		p.setenv("WEBHOOK_TARGET", url+"/hooks")
	default: // called later, for a request
		p.setenv("REMOTE_"+e.word+"_URL", url)
	}
}

// envName returns a name as variables spell it.
func envName(name string) string { return strings.ToUpper(strings.ReplaceAll(name, "-", "_")) }
