// Command largechart writes a Helm chart of the size of the largest operators:
// ten CustomResourceDefinitions, or more, with schemas of some 450 KB each, half of them
// in crds/ and half behind a template, and 150 other objects.
//
//	go run ./largechart DIR [DEFINITIONS]
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	count := 10
	if len(os.Args) == 3 {
		if _, err := fmt.Sscan(os.Args[2], &count); err != nil || count < 10 {
			fmt.Fprintln(os.Stderr, "largechart: at least ten definitions, which resources are made of")
			os.Exit(2)
		}
	} else if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: largechart DIR [DEFINITIONS]")
		os.Exit(2)
	}
	if err := write(os.Args[1], count); err != nil {
		fmt.Fprintln(os.Stderr, "largechart:", err)
		os.Exit(1)
	}
}

func write(dir string, count int) error {
	files := map[string]string{
		"Chart.yaml":               "apiVersion: v2\nname: large\nversion: 1.0.0\n",
		"values.yaml":              "crds: {enabled: true}\napps: 30\nreplicas: 1\n",
		"templates/apps.yaml":      apps,
		"templates/operator.yaml":  operator,
		"templates/resources.yaml": resources,
	}
	for i := range count {
		crd := definition(fmt.Sprintf("Thing%d", i))
		if i%2 == 0 {
			files[fmt.Sprintf("crds/thing%d.yaml", i)] = crd
		} else {
			files[fmt.Sprintf("templates/crd-thing%d.yaml", i)] = "{{- if .Values.crds.enabled }}\n" + crd + "{{- end }}\n"
		}
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// definition writes a CRD whose schema is a tree of objects with descriptions,
// in the layout of controller-gen.
func definition(kind string) string {
	var b strings.Builder
	plural := strings.ToLower(kind) + "s"
	fmt.Fprintf(&b, `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations:
    controller-gen.kubebuilder.io/version: v0.19.0
  name: %s.large.example.com
spec:
  group: large.example.com
  names:
    kind: %s
    listKind: %sList
    plural: %s
    singular: %s
  scope: Namespaced
  versions:
  - name: v1
    schema:
      openAPIV3Schema:
        description: %s is a resource with a large specification.
        properties:
`, plural, kind, kind, plural, strings.ToLower(kind), kind)
	schema(&b, "          ", 4, 9)
	b.WriteString("        type: object\n    served: true\n    storage: true\n    subresources:\n      status: {}\n")
	return b.String()
}

func schema(b *strings.Builder, indent string, depth, width int) {
	for i := range width {
		fmt.Fprintf(b, "%sfield%d:\n%s  description: |-\n", indent, i, indent)
		fmt.Fprintf(b, "%s    Field%d says how this part of the resource behaves.\n%s    More info: https://large.example.com/docs#field%d\n",
			indent, i, indent, i)
		if depth == 1 {
			fmt.Fprintf(b, "%s  type: string\n", indent)
			continue
		}
		fmt.Fprintf(b, "%s  properties:\n", indent)
		schema(b, indent+"    ", depth-1, min(width, 5))
		fmt.Fprintf(b, "%s  type: object\n", indent)
	}
}

const apps = `{{- range $i := until (int .Values.apps) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-{{ $i }}
data:
  config.yaml: |
    number: {{ $i }}
    name: {{ $.Release.Name }}
---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app-{{ $i }}
---
apiVersion: v1
kind: Service
metadata:
  name: app-{{ $i }}
spec:
  selector: {app: app-{{ $i }}}
  ports: [{port: 80}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{{ $i }}
  labels: {{- dict "app" (print "app-" $i) "chart" $.Chart.Name | toYaml | nindent 4 }}
spec:
  selector: {matchLabels: {app: app-{{ $i }}}}
  template:
    metadata: {labels: {app: app-{{ $i }}}}
    spec:
      serviceAccountName: app-{{ $i }}
      containers:
      - name: app
        image: registry.example.com/app:{{ $.Chart.Version }}
        volumeMounts: [{name: config, mountPath: /etc/app}]
      volumes:
      - name: config
        configMap: {name: app-{{ $i }}}
{{- end }}
`

const operator = `apiVersion: v1
kind: ServiceAccount
metadata:
  name: operator
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: operator
rules:
- apiGroups: [large.example.com]
  resources: ["*"]
  verbs: ["*"]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: operator
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: operator}
subjects: [{kind: ServiceAccount, name: operator, namespace: {{ .Release.Namespace }}}]
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: operator
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: operator}}
  template:
    metadata: {labels: {app: operator}}
    spec:
      serviceAccountName: operator
      containers: [{name: operator, image: registry.example.com/operator:1}]
`

const resources = `{{- range $i := until 30 }}
---
apiVersion: large.example.com/v1
kind: Thing{{ mod $i 10 }}
metadata:
  name: thing-{{ $i }}
spec:
  field0: {field1: {field2: {field3: text}}}
{{- end }}
`
