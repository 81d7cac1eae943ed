package wave_test

import (
	"fmt"
	"strings"
)

// addJobs draws the Jobs of the application.
func (g *generator) addJobs() {
	for _, s := range g.services {
		for _, u := range s.stores {
			if u.store.engine.database && s.migration == "" && g.chance(42) {
				g.addMigration(s, u)
			}
		}
	}
	for _, add := range []struct {
		percent int
		job     func()
	}{{25, g.addSeed}, {35, g.addBootstrap}, {20, g.addSmoke}, {20, g.addBuckets}, {10, g.addKeys}, {8, g.addGuard}} {
		if g.chance(add.percent) {
			add.job()
		}
	}
}

// newJob returns a Job that runs the image. Some are hooks of the Sync phase, which
// Argo CD awaits in any order.
func (g *generator) newJob(names []string, image string) *pod {
	name := g.drawName(names)
	p := &pod{kind: "Job", name: name, app: name, image: image}
	if g.chance(10) {
		p.metadata = []string{"argocd.argoproj.io/hook: Sync", "argocd.argoproj.io/hook-delete-policy: BeforeHookCreation"}
	}
	g.pods = append(g.pods, p)
	return p
}

// addMigration makes the Job that migrates the schema of a service. It is shown if a
// word tells that it is a migration, and it runs the service's image or reaches what
// both show to be the same database.
func (g *generator) addMigration(s *service, u use) {
	tool := pick(g, migrationTools)
	names, isNamed := migrationNames, true
	if g.chance(25) {
		names, isNamed = vagueNames, false
	}
	image := s.pod.image
	if tool.image != "" {
		image = strings.ReplaceAll(tool.image, "%s", s.endpoint.host)
	}
	job := g.newJob(names, image)
	job.command, job.args = tool.command, tool.args
	t := u.telling
	isShared := g.chance(65)
	if !isShared {
		t = g.tell(job, u.endpoint)
	}
	g.connectTo(job, u.endpoint, t, jobNeedsStore)
	m := migration{Job: job.object(), Application: s.pod.object(), Form: t.form, Sign: "vague name, vague command"}
	switch {
	case isNamed:
		m.Sign = "word in the name"
	case tool.isWord:
		m.Sign = "word in: " + strings.Join(append(strings.Fields(tool.image), append(tool.command, tool.args...)...), " ")
	}
	switch {
	case tool.image == "":
		m.Sign += "; the application's image"
	case t.shown && u.telling.shown:
		m.Sign += "; the database of both"
	case isShared && t.secret:
		m.Sign += "; the Secret of both"
	default:
		m.Sign += "; nothing in common"
	}
	m.Shown = (isNamed || tool.isWord) && !strings.HasSuffix(m.Sign, "; nothing in common")
	g.app.Migrations = append(g.app.Migrations, m)
	s.migration = job.object()
	if tool.image == "" { // the application's configuration comes with it
		for _, other := range s.stores {
			if other.store != u.store && other.telling.form != "argument" && g.chance(30) {
				g.mentionAll(job, other)
			}
		}
	}
	switch {
	case g.chance(15):
		g.waitForJob(s.pod, job.name)
		g.need(s.pod.object(), job.object(), serviceNeedsJob, "wait for the Job", true)
	case g.chance(40):
		g.need(s.pod.object(), job.object(), serviceNeedsJob, "its schema", false)
	}
}

// mentionAll shows a Job what the service reads, too, although it does not connect.
func (g *generator) mentionAll(job *pod, u use) {
	u.telling.show(job)
	g.need(job.object(), u.telling.reads, podsRead, u.telling.form, true)
	if u.telling.form == "wait loop" {
		g.need(job.object(), u.endpoint.object, jobNeedsStore, u.telling.form, true)
	}
}

// waitForJob makes Pods start after a Job.
func (g *generator) waitForJob(p *pod, job string) {
	switch g.rng.IntN(3) {
	case 0:
		p.prepare("bitnami/kubectl:1.30", "kubectl", "wait", "--for=condition=complete", "job/"+job, "--timeout=600s")
	case 1:
		p.prepare("groundnuty/k8s-wait-for:v2.0", "wait_for.sh", "job", job)
	default:
		p.prepare("bitnami/kubectl:1.30", "sh", "-c",
			"until kubectl get job "+job+" -o jsonpath={.status.succeeded} | grep -q 1; do sleep 2; done")
	}
}

// addSeed makes a Job that loads data, into the database or over the service.
func (g *generator) addSeed() {
	s := pick(g, g.services)
	for _, u := range s.stores {
		if !u.store.engine.database || g.chance(40) {
			continue
		}
		job := g.newJob(seedNames, s.pod.image)
		job.command = pick(g, seedCommands)
		t := u.telling
		if g.chance(40) {
			t = g.tell(job, u.endpoint)
		}
		g.connectTo(job, u.endpoint, t, jobNeedsStore)
		g.need(job.object(), s.migration, jobNeedsJob, "its schema", false)
		return
	}
	g.call(seedNames, s)
}

// call makes a Job that calls a service over HTTP.
func (g *generator) call(names []string, s *service) *pod {
	images := []string{"curlimages/curl:8.8.0", "ghcr.io/acme/tools:3", s.pod.image, "alpine:3.20", "ghcr.io/acme/" + g.stem + "-cli:1"}
	job := g.newJob(names, pick(g, images))
	g.connectTo(job, s.endpoint, g.tell(job, s.endpoint), jobNeedsService)
	return job
}

// addBootstrap makes a Job that prepares something in a service, which another may need.
func (g *generator) addBootstrap() {
	i := g.rng.IntN(len(g.services))
	job := g.call(bootstrapNames, g.services[i])
	for _, client := range g.services[i+1:] {
		if !g.chance(35) {
			continue
		}
		g.need(client.pod.object(), job.object(), serviceNeedsJob, "what it prepares", false)
		if g.chance(30) { // the Job registers its client's address
			job.setenv("REDIRECT_URIS", client.endpoint.url(g)+"/callback")
		}
	}
}

func (g *generator) addSmoke() {
	first, other := pick(g, g.services), pick(g, g.services)
	job := g.call(smokeNames, first)
	if other != first && g.chance(60) {
		t := g.tell(job, other.endpoint)
		g.connectTo(job, other.endpoint, t, jobNeedsService)
	}
}

// addBuckets makes a Job that creates buckets, topics or queues, for those who use the store.
func (g *generator) addBuckets() {
	for _, st := range g.stores {
		if st.engine.database {
			continue
		}
		job := g.newJob(bucketNames, pick(g, []string{"minio/mc:RELEASE.2024-07-03", "ghcr.io/acme/tools:3", "alpine:3.20"}))
		job.command = []string{"sh", "-c", "/scripts/create " + g.stem}
		g.connectTo(job, st.endpoint, g.tell(job, st.endpoint), jobNeedsStore)
		for _, s := range g.services {
			for _, u := range s.stores {
				if u.store == st && g.chance(50) {
					g.need(s.pod.object(), job.object(), serviceNeedsJob, "what it prepares", false)
				}
			}
		}
		return
	}
}

// addKeys makes a Job whose script creates a Secret that a service reads.
func (g *generator) addKeys() {
	s := pick(g, g.services)
	job := g.newJob(keyNames, "bitnami/kubectl:1.30")
	secret := g.name(s.pod.name + "-keys")
	job.command = []string{"sh", "-c", fmt.Sprintf(
		"kubectl get secret %[1]s || kubectl create secret generic %[1]s --from-literal=token=$(head -c 32 /dev/urandom | base64)", secret)}
	job.serviceAccount = g.name(job.name + "-sa")
	g.add(secretWriterManifests(job.serviceAccount)...)
	g.need(job.object(), "RoleBinding/"+job.serviceAccount, podsRead, "permission", true)
	s.pod.readKey("TOKEN", secret, "token")
	g.need(s.pod.object(), job.object(), serviceNeedsJob, "Secret of a script", true)
}

// addGuard makes a Job that looks at a database before the release.
func (g *generator) addGuard() {
	s := pick(g, g.services)
	for _, u := range s.stores {
		if u.store.engine.database {
			job := g.newJob(guardNames, pick(g, []string{s.pod.image, "ghcr.io/acme/tools:3"}))
			job.command = []string{"sh", "-c", "/scripts/guard"}
			g.connectTo(job, u.endpoint, g.tell(job, u.endpoint), jobNeedsStore)
			return
		}
	}
}

// addNoise adds what has nothing to do with the needs.
func (g *generator) addNoise() {
	for _, s := range g.services {
		if g.chance(30) {
			name := g.name(s.endpoint.host + "-ingress")
			g.add(ingressManifest(name, s.endpoint.host, s.endpoint.port))
			g.maybeNeverHealthy("Ingress/" + name)
		}
		if g.chance(20) {
			name := g.name(s.pod.name + "-hpa")
			g.add(autoscalerManifest(name, s.pod))
			g.maybeNeverHealthy("HorizontalPodAutoscaler/" + name)
		}
		if g.chance(30) && s.pod.serviceAccount == "" {
			s.pod.serviceAccount = g.name(s.pod.name + "-sa")
			g.add(fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s}\n", s.pod.serviceAccount))
			g.need(s.pod.object(), "ServiceAccount/"+s.pod.serviceAccount, podsRead, "ServiceAccount", true)
		}
		if g.chance(25) {
			g.addLookalike(s.pod)
		}
	}
	if g.chance(30) {
		g.add(configMapManifest(g.name(g.stem+"-notes"), "README.md", "Call http://"+pick(g, g.services).endpoint.host+" for help.\n"))
	}
}

// maybeNeverHealthy makes some objects that nobody needs stay unhealthy, as without a
// load balancer or metrics.
func (g *generator) maybeNeverHealthy(object string) {
	if g.chance(15) {
		g.need(object, object, neverHealthy, "the cluster", false)
	}
}

// addLookalike adds a text that contains the name of a service, but is no address of it.
func (g *generator) addLookalike(p *pod) {
	name := pick(g, g.services).endpoint.host
	switch g.rng.IntN(5) {
	case 0:
		p.setenv("BACKUP_TARGET", "s3://"+name+"/backups")
	case 1:
		p.setenv("ADMIN_EMAIL", "admin@"+name)
	case 2:
		p.setenv("WORKER_IMAGE", "registry.example.com/acme/"+name+":1.0")
	case 3:
		p.setenv("SPIFFE_ID", "spiffe://"+name+"/workload")
	default:
		p.prepare("busybox:1.36", "sh", "-c", "chown "+name+":1000 /data")
	}
}
