package wave_test

import (
	"fmt"
	"strings"
)

// pod is what runs in a workload or a Job of a generated application. It is written
// last, since the parts of an application add to each other's Pods.
type pod struct {
	kind, name     string
	app            string // label that a Service selects
	image          string
	port           int
	probe          string
	command, args  []string
	env, envFrom   []string
	initContainers []string
	annotations    []string // of the Pod template
	metadata       []string // annotations of the workload itself
	volumes        []string
	mounts         []string
	claims         string // the StatefulSet's own volume
	serviceName    string // the StatefulSet's governing Service
	serviceAccount string
}

// object returns how needs name the workload.
func (p *pod) object() string { return p.kind + "/" + p.name }

func (p *pod) setenv(name, value string) {
	p.env = append(p.env, fmt.Sprintf("{name: %s, value: %q}", name, value))
}

func (p *pod) readKey(variable, secret, key string) {
	p.env = append(p.env, fmt.Sprintf("{name: %s, valueFrom: {secretKeyRef: {name: %s, key: %s}}}", variable, secret, key))
}

// mount mounts a ConfigMap or Secret; source is such as "configMap: {name: x}".
func (p *pod) mount(path, source string) {
	volume := fmt.Sprintf("v%d", len(p.volumes))
	p.volumes = append(p.volumes, fmt.Sprintf("{name: %s, %s}", volume, source))
	p.mounts = append(p.mounts, fmt.Sprintf("{name: %s, mountPath: %s}", volume, path))
}

// prepare adds an init container.
func (p *pod) prepare(image string, command ...string) {
	name := fmt.Sprintf("wait-%d", len(p.initContainers))
	p.initContainers = append(p.initContainers, fmt.Sprintf("{name: %s, image: %q, command: %s}", name, image, quoted(command)))
}

func (p *pod) manifest() string {
	var b strings.Builder
	version := "apps/v1"
	if p.kind == "Job" {
		version = "batch/v1"
	}
	fmt.Fprintf(&b, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %s\n", version, p.kind, p.name)
	writeList(&b, "  annotations: {%s}\n", p.metadata)
	b.WriteString("spec:\n")
	if p.kind == "Job" {
		b.WriteString("  backoffLimit: 6\n")
	} else {
		fmt.Fprintf(&b, "  replicas: 1\n  selector: {matchLabels: {app: %s}}\n", p.app)
	}
	if p.kind == "StatefulSet" {
		fmt.Fprintf(&b, "  serviceName: %s\n", p.serviceName)
	}
	fmt.Fprintf(&b, "  template:\n    metadata:\n      labels: {app: %s}\n", p.app)
	writeList(&b, "      annotations: {%s}\n", p.annotations)
	b.WriteString("    spec:\n")
	if p.kind == "Job" {
		b.WriteString("      restartPolicy: OnFailure\n")
	}
	if p.serviceAccount != "" {
		fmt.Fprintf(&b, "      serviceAccountName: %s\n", p.serviceAccount)
	}
	writeList(&b, "      initContainers: [%s]\n", p.initContainers)
	p.writeContainer(&b)
	writeList(&b, "      volumes: [%s]\n", p.volumes)
	if p.claims != "" {
		fmt.Fprintf(&b, "  volumeClaimTemplates:\n  - metadata: {name: %s}\n"+
			"    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}\n", p.claims)
	}
	return b.String()
}

func (p *pod) writeContainer(b *strings.Builder) {
	fmt.Fprintf(b, "      containers:\n      - name: main\n        image: %s\n", p.image)
	if len(p.command) > 0 {
		fmt.Fprintf(b, "        command: %s\n", quoted(p.command))
	}
	if len(p.args) > 0 {
		fmt.Fprintf(b, "        args: %s\n", quoted(p.args))
	}
	writeList(b, "        env: [%s]\n", p.env)
	writeList(b, "        envFrom: [%s]\n", p.envFrom)
	if p.port != 0 {
		fmt.Fprintf(b, "        ports: [{containerPort: %d}]\n", p.port)
	}
	if p.probe != "" {
		fmt.Fprintf(b, "        readinessProbe: {%s}\n", p.probe)
	}
	mounts := p.mounts
	if p.claims != "" {
		mounts = append([]string{fmt.Sprintf("{name: %s, mountPath: /data}", p.claims)}, mounts...)
	}
	writeList(b, "        volumeMounts: [%s]\n", mounts)
}

// writeList writes a line with the items, or none without items.
func writeList(b *strings.Builder, line string, items []string) {
	if len(items) > 0 {
		fmt.Fprintf(b, line, strings.Join(items, ", "))
	}
}

// quoted returns the words as a YAML list.
func quoted(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = fmt.Sprintf("%q", w)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

func serviceManifest(name, app string, port int, headless bool) string {
	clusterIP := ""
	if headless {
		clusterIP = "clusterIP: None, "
	}
	return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: %s}\nspec: {%sselector: {app: %s}, ports: [{port: %d}]}\n",
		name, clusterIP, app, port)
}

func configMapManifest(name, key, value string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s}\ndata:\n  %s: %q\n", name, key, value)
}

func externalSecretManifest(name, key string) string {
	return fmt.Sprintf("apiVersion: external-secrets.io/v1\nkind: ExternalSecret\nmetadata: {name: %[1]s}\nspec:\n"+
		"  secretStoreRef: {kind: ClusterSecretStore, name: corp}\n  target: {name: %[1]s}\n"+
		"  data: [{secretKey: %[2]s, remoteRef: {key: prod/%[1]s}}]\n", name, key)
}

func sealedSecretManifest(name, key string) string {
	return fmt.Sprintf("apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: %[1]s}\nspec:\n"+
		"  encryptedData: {%[2]s: AgBy8hCi8erSS2JbGkwaQ==}\n  template: {metadata: {name: %[1]s}}\n", name, key)
}

func ingressManifest(name, service string, port int) string {
	return fmt.Sprintf("apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: %[1]s}\nspec:\n"+
		"  rules: [{host: %[1]s.example.com, http: {paths: [{path: /, pathType: Prefix,"+
		" backend: {service: {name: %[2]s, port: {number: %[3]d}}}}]}}]\n", name, service, port)
}

func autoscalerManifest(name string, target *pod) string {
	return fmt.Sprintf("apiVersion: autoscaling/v2\nkind: HorizontalPodAutoscaler\nmetadata: {name: %s}\nspec:\n"+
		"  scaleTargetRef: {apiVersion: apps/v1, kind: %s, name: %s}\n  maxReplicas: 4\n"+
		"  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]\n",
		name, target.kind, target.name)
}

func claimManifest(name string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: %s}\n"+
		"spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 8Gi}}}\n", name)
}

// secretWriterManifests are the permissions of a Job that creates Secrets.
func secretWriterManifests(name string) []string {
	return []string{
		fmt.Sprintf("apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: %s}\n", name),
		fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: %s}\n"+
			"rules: [{apiGroups: [\"\"], resources: [secrets], verbs: [create, get, patch]}]\n", name),
		fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: RoleBinding\nmetadata: {name: %[1]s}\n"+
			"roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[1]s}\n"+
			"subjects: [{kind: ServiceAccount, name: %[1]s}]\n", name),
	}
}
