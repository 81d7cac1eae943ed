package node_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ladder-cmp/ladder/e2e/node"
)

// TestWorkers starts a node with a worker, and tries what needs both.
func TestWorkers(t *testing.T) {
	bin, hello := build(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	before := traces(t)
	n := start(ctx, t, bin, hello, node.Options{Workers: 1})
	t.Run("Pods reach Pods of the other node", func(t *testing.T) { podsReachEachOther(ctx, t, n) })
	t.Run("a Pod moves with its volume", func(t *testing.T) { podMoves(ctx, t, n) })
	if err := n.Stop(); err != nil {
		t.Fatal(err)
	}
	if after := traces(t); after != before {
		t.Errorf("the nodes left traces on the machine; before:\n%s\nafter:\n%s", before, after)
	}
}

// podsReachEachOther runs one Pod on each node, as a DaemonSet, and asks each from each
// node: by its address, and by the names that a Service gives it.
func podsReachEachOther(ctx context.Context, t *testing.T, n rig) {
	create(ctx, t, n.client.AppsV1().DaemonSets("default").Create, &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "everywhere"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels("everywhere")},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels("everywhere")},
				Spec: corev1.PodSpec{Containers: []corev1.Container{hello("serve")}}},
		},
	})
	create(ctx, t, n.client.CoreV1().Services("default").Create, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "everywhere"},
		Spec: corev1.ServiceSpec{Selector: labels("everywhere"),
			Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	})
	eventually(ctx, t, func() error {
		d, err := n.client.AppsV1().DaemonSets("default").Get(ctx, "everywhere", metav1.GetOptions{})
		if err == nil && d.Status.NumberReady != 2 {
			err = fmt.Errorf("%d Pods of the DaemonSet are ready, not 2", d.Status.NumberReady)
		}
		return err
	})
	pods, err := n.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{LabelSelector: "app=everywhere"})
	if err != nil {
		t.Fatal(err)
	}
	nodes := nodesOf(pods.Items)
	if want := []string{"node", "worker1"}; !slices.Equal(nodes, want) {
		t.Fatalf("the Pods run on %v, not on %v", nodes, want)
	}
	for _, from := range nodes {
		succeedOn(ctx, t, n, from, "by-name-from-"+from, "ask", "http://everywhere.default.svc")
		for _, pod := range pods.Items {
			succeedOn(ctx, t, n, from, "from-"+from+"-to-"+pod.Spec.NodeName, "ask", "http://"+pod.Status.PodIP+":8080")
		}
	}
	logs, err := n.Logs(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods.Items {
		if !slices.ContainsFunc(logs, func(l node.Log) bool { return l.Pod == pod.Name }) {
			t.Errorf("the log of Pod %s on %s is missing", pod.Name, pod.Spec.NodeName)
		}
	}
}

// podMoves keeps new Pods from the node on which a StatefulSet's Pod runs, and deletes the
// Pod: the next one runs on the other node, with the same volume.
func podMoves(ctx context.Context, t *testing.T, n rig) {
	statefulSet(ctx, t, n, "moves")
	pods := n.client.CoreV1().Pods("default")
	first, err := pods.Get(ctx, "moves-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cordon := []byte(`{"spec":{"unschedulable":true}}`)
	if _, err := n.client.CoreV1().Nodes().Patch(ctx, first.Spec.NodeName, types.MergePatchType, cordon, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := pods.Delete(ctx, first.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, func() error {
		next, err := pods.Get(ctx, first.Name, metav1.GetOptions{})
		if err == nil && (next.UID == first.UID || next.Spec.NodeName == first.Spec.NodeName || !ready(next)) {
			err = fmt.Errorf("Pod %s on %s has no ready successor on another node; there is %s on %q",
				first.UID, first.Spec.NodeName, next.UID, next.Spec.NodeName)
		}
		return err
	})
	volumes, err := filepath.Glob(filepath.Join(n.Dir, "volumes", "*", "greeting"))
	if err != nil || len(volumes) != 1 {
		t.Fatalf("there is not one volume with the file of the program: %v, %v", volumes, err)
	}
	if text, err := os.ReadFile(volumes[0]); err != nil || strings.TrimSpace(string(text)) != "hello" {
		t.Errorf("the file holds %q, %v", text, err)
	}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func nodesOf(pods []corev1.Pod) []string {
	var nodes []string
	for _, pod := range pods {
		nodes = append(nodes, pod.Spec.NodeName)
	}
	slices.Sort(nodes)
	return nodes
}
