package node_test

import (
	"context"
	"errors"
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

// TestNode starts a node once, and tries on it what charts need of one.
func TestNode(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	before := traces(t)
	n, client := start(ctx, t)
	for name, try := range map[string]func(context.Context, *testing.T, kubernetes.Interface){
		"a Service leads to a Deployment":           serviceLeadsToDeployment,
		"a Pod waits for the Secret that it mounts": podWaitsForSecret,
		"a program that fails is restarted":         failureIsRestarted,
	} {
		t.Run(name, func(t *testing.T) { try(ctx, t, client) })
	}
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if after := traces(t); after != before {
		t.Errorf("the node left traces on the machine; before:\n%s\nafter:\n%s", before, after)
	}
}

func start(ctx context.Context, t *testing.T) (*node.Node, kubernetes.Interface) {
	t.Helper()
	cache, err := program.Cache()
	if err != nil {
		t.Fatal(err)
	}
	bin, err := node.Build(ctx, cache)
	if err != nil {
		t.Fatal(err)
	}
	hello, err := program.BuildOwn(ctx, "node/hello", cache)
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "ladder-node-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("logs: %s", dir)
			return
		}
		os.RemoveAll(dir)
	})
	n, err := node.Start(ctx, dir, bin)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Stop() })
	image, err := node.Program("/hello", map[string]string{"/hello": hello})
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Serve(helloImage, image); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(n.Config)
	if err != nil {
		t.Fatal(err)
	}
	return n, client
}

// traces is what of the machine a node must not change.
func traces(t *testing.T) string {
	t.Helper()
	var text string
	for _, file := range []string{"/proc/self/mountinfo", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic", "/proc/sys/kernel/panic_on_oops", "/proc/sys/net/ipv4/ip_forward"} {
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
	cgroups, err := filepath.Glob("/sys/fs/cgroup/*/ladder-node")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(text, string(links), cgroups)
}

func serviceLeadsToDeployment(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	probe := &corev1.Probe{ProbeHandler: corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Port: intstr.FromInt32(8080)}}, PeriodSeconds: 1}
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: helloImage, Args: []string{"serve"}, ReadinessProbe: probe}}}
	labels := map[string]string{"app": "hello"}
	create(ctx, t, client.AppsV1().Deployments("default").Create, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: pod},
		},
	})
	service := create(ctx, t, client.CoreV1().Services("default").Create, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "hello"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	})
	eventually(ctx, t, func() error {
		d, err := client.AppsV1().Deployments("default").Get(ctx, "hello", metav1.GetOptions{})
		if err == nil && d.Status.AvailableReplicas != 1 {
			err = errors.New("the Deployment is not available")
		}
		return err
	})
	create(ctx, t, client.BatchV1().Jobs("default").Create, &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: "ask"},
		Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyOnFailure,
			Containers:    []corev1.Container{{Name: "ask", Image: helloImage, Args: []string{"ask", "http://" + service.Spec.ClusterIP}}},
		}}},
	})
	eventually(ctx, t, func() error {
		job, err := client.BatchV1().Jobs("default").Get(ctx, "ask", metav1.GetOptions{})
		if err == nil && job.Status.Succeeded != 1 {
			err = errors.New("nothing answered at the Service's address")
		}
		return err
	})
}

func podWaitsForSecret(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	create(ctx, t, client.CoreV1().Pods("default").Create, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: helloImage, Args: []string{"serve"},
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}}}},
	})
	state := func() (*corev1.ContainerStatus, error) {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "waits", metav1.GetOptions{})
		if err != nil {
			return nil, err
		}
		if len(pod.Status.ContainerStatuses) == 0 {
			return nil, errors.New("the kubelet has not looked at the Pod")
		}
		return &pod.Status.ContainerStatuses[0], nil
	}
	eventually(ctx, t, func() error {
		s, err := state()
		if err == nil && (s.State.Waiting == nil || s.State.Waiting.Reason != "CreateContainerConfigError") {
			err = fmt.Errorf("the container is %+v; it has to wait for the Secret", s.State)
		}
		return err
	})
	create(ctx, t, client.CoreV1().Secrets("default").Create, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
	eventually(ctx, t, func() error {
		s, err := state()
		if err == nil && s.State.Running == nil {
			err = fmt.Errorf("the container is %+v", s.State)
		}
		return err
	})
}

func failureIsRestarted(ctx context.Context, t *testing.T, client kubernetes.Interface) {
	create(ctx, t, client.CoreV1().Pods("default").Create, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "fails"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: helloImage, Args: []string{"ask", "http://127.0.0.1:1"}}}},
	})
	eventually(ctx, t, func() error {
		pod, err := client.CoreV1().Pods("default").Get(ctx, "fails", metav1.GetOptions{})
		if err == nil && (len(pod.Status.ContainerStatuses) == 0 || pod.Status.ContainerStatuses[0].RestartCount == 0) {
			err = errors.New("the kubelet has not restarted the program")
		}
		return err
	})
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
