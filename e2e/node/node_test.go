package node_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/ladder-cmp/ladder/e2e/node"
	"github.com/ladder-cmp/ladder/e2e/program"
)

const helloImage = "quay.io/ladder/hello:v1"

// rig is a node with what its tests need.
type rig struct {
	*node.Node
	client kubernetes.Interface
}

// TestNode starts a node once, and tries on it what charts need of one; then it starts
// another with the first one's images.
func TestNode(t *testing.T) {
	bin, hello := build(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	before := traces(t)
	content := directory(t)
	n := start(ctx, t, bin, hello, node.Options{LoadBalancers: true, Content: content})
	t.Run("it has", func(t *testing.T) {
		for name, try := range map[string]func(context.Context, *testing.T, rig){
			"Services that lead to a Deployment":        serviceLeadsToDeployment,
			"Pods that wait for the Secret they mount":  podWaitsForSecret,
			"restarts of programs that fail":            failureIsRestarted,
			"names of Services and Pods":                namesResolve,
			"volumes for PVCs":                          volumesAreMade,
			"webhooks and aggregated APIs":              apiIsExtended,
			"metrics of containers":                     metricsAreServed,
			"reads of ServiceAccounts in its audit log": readsAreLogged,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				try(ctx, t, n)
			})
		}
	})
	t.Run("it is cleaned", func(t *testing.T) { leftoversGo(ctx, t, n) })
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	t.Run("the next has its images", func(t *testing.T) {
		imagesStay(ctx, t, start(ctx, t, bin, hello, node.Options{Content: content}))
	})
	if after := traces(t); after != before {
		t.Errorf("the node left traces on the machine; before:\n%s\nafter:\n%s", before, after)
	}
}

func build(t *testing.T) (bin node.Binaries, hello string) {
	t.Helper()
	cache, err := program.Cache()
	if err != nil {
		t.Fatal(err)
	}
	if bin, err = node.Build(t.Context(), cache); err != nil {
		t.Fatal(err)
	}
	if hello, err = program.BuildOwn(t.Context(), "node/hello", cache); err != nil {
		t.Fatal(err)
	}
	return bin, hello
}

// directory is one that stays if the test fails.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ladder-node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs and files: %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	return dir
}

func start(ctx context.Context, t *testing.T, bin node.Binaries, hello string, opts node.Options) rig {
	t.Helper()
	begin := time.Now()
	n, err := node.Start(ctx, directory(t), bin, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the node was ready after %s", time.Since(begin).Round(100*time.Millisecond))
	t.Cleanup(func() { n.Stop() })
	image, err := node.Program("/hello", map[string]string{"/hello": hello})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Serve("quay.io/ladder/hello", image); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(n.Config)
	if err != nil {
		t.Fatal(err)
	}
	return rig{n, client}
}

// traces is what of the machine a node must not change.
func traces(t *testing.T) string {
	t.Helper()
	var text string
	for _, file := range []string{"/proc/self/mountinfo", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic",
		"/proc/sys/kernel/panic_on_oops", "/proc/sys/net/ipv4/ip_forward"} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text += file + "\n" + string(content)
	}
	links, err := exec.Command("ip", "-o", "link").Output()
	if err != nil {
		t.Fatal(err)
	}
	cgroups, err := filepath.Glob(fmt.Sprintf("/sys/fs/cgroup/*/ladder-node-%d-*", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(text, string(links), cgroups)
}

func create[T any](ctx context.Context, t *testing.T, do func(context.Context, *T, metav1.CreateOptions) (*T, error), obj *T) *T {
	t.Helper()
	made, err := do(ctx, obj, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func eventually(ctx context.Context, t *testing.T, check func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

func labels(app string) map[string]string { return map[string]string{"app": app} }

// deploy runs hello serve as a Deployment of one Pod, and waits until it is available.
func deploy(ctx context.Context, t *testing.T, n rig, name string) {
	t.Helper()
	deployPod(ctx, t, n, name, corev1.PodSpec{Containers: []corev1.Container{hello("serve")}})
}

func deployPod(ctx context.Context, t *testing.T, n rig, name string, pod corev1.PodSpec) {
	t.Helper()
	create(ctx, t, n.client.AppsV1().Deployments("default").Create, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels(name)},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels(name)}, Spec: pod},
		},
	})
	eventually(ctx, t, func() error {
		d, err := n.client.AppsV1().Deployments("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 1 {
			err = fmt.Errorf("Deployment %s is not available", name)
		}
		return err
	})
}

// hello is a container that is ready once it answers, if it serves.
func hello(args ...string) corev1.Container {
	c := corev1.Container{Name: "hello", Image: helloImage, Args: args}
	if args[0] == "serve" {
		c.ReadinessProbe = &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(8080)}}, PeriodSeconds: 1}
	}
	return c
}

// succeed runs hello as a Job until it has succeeded.
func succeed(ctx context.Context, t *testing.T, n rig, name string, args ...string) {
	t.Helper()
	succeedOn(ctx, t, n, "", name, args...)
}

// succeedOn is succeed on a node, or on any if it is empty.
func succeedOn(ctx context.Context, t *testing.T, n rig, node, name string, args ...string) {
	t.Helper()
	create(ctx, t, n.client.BatchV1().Jobs("default").Create, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			NodeName: node, RestartPolicy: corev1.RestartPolicyOnFailure, Containers: []corev1.Container{hello(args...)},
		}}},
	})
	eventually(ctx, t, func() error {
		job, err := n.client.BatchV1().Jobs("default").Get(ctx, name, metav1.GetOptions{})
		if err == nil && job.Status.Succeeded != 1 {
			err = fmt.Errorf("hello %s does not succeed", args)
		}
		return err
	})
}
