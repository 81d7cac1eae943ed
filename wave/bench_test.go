package wave_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/golden"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// tenObjects are those of the application with the first number. It calls the
// applications with the other three.
const tenObjects = `---
apiVersion: v1
kind: ServiceAccount
metadata:
  name: app-%[1]d
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-%[1]d
data:
  UPSTREAM: http://app-%[2]d.ns.svc:80
---
apiVersion: v1
kind: Secret
metadata:
  name: app-%[1]d
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: app-%[1]d
spec:
  storageClassName: fast
---
apiVersion: v1
kind: Service
metadata:
  name: app-%[1]d
spec:
  selector:
    app: app-%[1]d
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: app-%[1]d
rules:
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: app-%[1]d
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: app-%[1]d
subjects:
- kind: ServiceAccount
  name: app-%[1]d
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-%[1]d
spec:
  selector:
    matchLabels:
      app: app-%[1]d
  template:
    metadata:
      labels:
        app: app-%[1]d
    spec:
      serviceAccountName: app-%[1]d
      containers:
      - name: app
        image: app-%[1]d:1
        envFrom:
        - configMapRef:
            name: app-%[1]d
        - secretRef:
            name: app-%[1]d
        env:
        - name: A
          valueFrom:
            secretKeyRef:
              name: app-%[1]d
              key: a
        - name: B
          valueFrom:
            secretKeyRef:
              name: app-%[1]d
              key: b
        - name: C
          valueFrom:
            secretKeyRef:
              name: app-%[1]d
              key: c
        - name: D
          valueFrom:
            secretKeyRef:
              name: app-%[1]d
              key: d
        - name: E
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: e
        - name: F
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: f
        - name: G
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: g
        - name: H
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: h
        - name: I
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: i
        - name: J
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: j
        - name: K
          valueFrom:
            configMapKeyRef:
              name: app-%[1]d
              key: k
        - name: NEXT_URL
          value: http://app-%[3]d:80
        - name: OTHER
          value: app-%[4]d.ns.svc:80
      volumes:
      - name: data
        persistentVolumeClaim:
          claimName: app-%[1]d
      - name: c
        configMap:
          name: app-%[1]d
      - name: s
        secret:
          secretName: app-%[1]d
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata:
  name: app-%[1]d
spec:
  scaleTargetRef:
    apiVersion: apps/v1
    kind: Deployment
    name: app-%[1]d
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: app-%[1]d
spec:
  rules:
  - http:
      paths:
      - path: /
        backend:
          service:
            name: app-%[1]d
`

// manyObjects is a component of 5,000 objects with some 20,000 references: 500
// applications of ten objects each, with accounts, rights, settings, volumes
// and calls to each other.
func manyObjects(tb testing.TB) []object.Object {
	tb.Helper()
	var b strings.Builder
	for i := range 500 {
		fmt.Fprintf(&b, tenObjects, i, (i+1)%500, (i+7)%500, (i+13)%500)
	}
	b.WriteString("---\n{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: fast}, provisioner: example.com/fast}\n")
	b.WriteString("---\n{apiVersion: v1, kind: Namespace, metadata: {name: ns}}\n")
	objs, err := object.Parse("many", 1, b.String())
	if err != nil {
		tb.Fatal(err)
	}
	return objs
}

// TestManyObjects holds the properties on a large component.
func TestManyObjects(t *testing.T) {
	objs := manyObjects(t)
	plan, err := assign(objs)
	if err != nil {
		t.Fatal(err)
	}
	if len(objs) < 5000 || len(plan.Graph.References) < 20000 {
		t.Errorf("%d objects with %d references, want at least 5,000 with 20,000", len(objs), len(plan.Graph.References))
	}
	if len(plan.Findings) > 0 {
		t.Errorf("findings: %s", plan.Findings[0])
	}
}

// BenchmarkManyObjects is the analysis of 5,000 objects: references, waves,
// check and annotations.
func BenchmarkManyObjects(b *testing.B) {
	objs := manyObjects(b)
	for b.Loop() {
		analyse(b, objs)
	}
}

// BenchmarkCorpus is the analysis of the largest rendering of a real chart,
// reading the manifests included.
func BenchmarkCorpus(b *testing.B) {
	text := golden.LargestChart(b)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		objs, err := object.Parse("corpus", 1, text)
		if err != nil {
			b.Fatal(err)
		}
		analyse(b, objs)
	}
}

// BenchmarkCheck is the share of the analysis that it takes to play the sync and to compare
// it with Argo CD's own order. It may be a tenth.
func BenchmarkCheck(b *testing.B) {
	objs := manyObjects(b)
	plan, err := assign(objs)
	if err != nil {
		b.Fatal(err)
	}
	var all, check time.Duration
	for b.Loop() {
		start := time.Now()
		analyse(b, objs)
		all += time.Since(start)
		start = time.Now()
		plan.Check(knowledge.Default())
		check += time.Since(start)
	}
	b.ReportMetric(100*float64(check)/float64(all), "%-of-analysis")
}

func analyse(b *testing.B, objs []object.Object) {
	b.Helper()
	g, err := graph.Build(objs, knowledge.Default(), graph.Options{Namespace: "ns"})
	if err != nil {
		b.Fatal(err)
	}
	plan, err := wave.Assign(g, knowledge.Default(), wave.Options{})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := plan.Annotate(); err != nil {
		b.Fatal(err)
	}
}
