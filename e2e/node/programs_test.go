package node_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ladder-cmp/ladder/e2e/node"
)

func serviceLeadsToDeployment(ctx context.Context, t *testing.T, n rig) {
	deploy(ctx, t, n, "web")
	service := create(ctx, t, n.client.CoreV1().Services("default").Create, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Selector: labels("web"),
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	})
	succeed(ctx, t, n, "ask-service", "ask", "http://"+service.Spec.ClusterIP)
	eventually(ctx, t, func() (err error) {
		service, err = n.client.CoreV1().Services("default").Get(ctx, "web", metav1.GetOptions{})
		if err == nil && len(service.Status.LoadBalancer.Ingress) == 0 {
			err = errors.New("the Service has no load balancer")
		}
		return err
	})
	succeed(ctx, t, n, "ask-balancer", "ask", "http://"+service.Status.LoadBalancer.Ingress[0].IP)
}

func podWaitsForSecret(ctx context.Context, t *testing.T, n rig) {
	create(ctx, t, n.client.CoreV1().Pods("default").Create, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "waits"},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "hello", Image: helloImage, Args: []string{"serve"},
			EnvFrom: []corev1.EnvFromSource{
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "late"}}}}}}},
	})
	state := func() (*corev1.ContainerStatus, error) {
		pod, err := n.client.CoreV1().Pods("default").Get(ctx, "waits", metav1.GetOptions{})
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
	warnings, err := n.Warnings(ctx, "default")
	if err != nil || !slices.ContainsFunc(warnings, func(w node.Warning) bool {
		return w.Object == "Pod/waits" && strings.Contains(w.Message, `secret "late" not found`)
	}) {
		t.Errorf("no warning says what the Pod waits for: %v, %v", warnings, err)
	}
	create(ctx, t, n.client.CoreV1().Secrets("default").Create, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
	eventually(ctx, t, func() error {
		s, err := state()
		if err == nil && s.State.Running == nil {
			err = fmt.Errorf("the container is %+v", s.State)
		}
		return err
	})
}

func failureIsRestarted(ctx context.Context, t *testing.T, n rig) {
	create(ctx, t, n.client.CoreV1().Pods("default").Create, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "fails"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{hello("ask", "http://127.0.0.1:1")}},
	})
	eventually(ctx, t, func() error {
		restarts, err := n.Restarts(ctx, "default")
		if err == nil && !slices.ContainsFunc(restarts, func(r node.Restart) bool {
			return r.Pod == "fails" && r.Container == "hello" && r.Count > 0 && r.Reason == "Error" && r.ExitCode == 1
		}) {
			err = fmt.Errorf("the kubelet has not restarted the program: %v", restarts)
		}
		return err
	})
	eventually(ctx, t, func() error {
		logs, err := n.Logs(ctx, "default")
		if err == nil && !slices.ContainsFunc(logs, func(l node.Log) bool {
			return l.Pod == "fails" && l.Previous && strings.Contains(l.Text, "connection refused")
		}) {
			err = fmt.Errorf("the log of the program's first run is missing: %v", logs)
		}
		return err
	})
}
