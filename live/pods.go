package live

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// How many seconds states may last before they are blamed. They are generous: a wrong cause costs
// more than a late one.
const (
	briefly   = 60  // an object that another one is about to create; a new volume
	aWhile    = 300 // a program that starts; a load balancer
	longWhile = 900 // a node that is being added; a certificate that is being validated
)

// container is a container of a Pod with its status.
type container struct {
	spec, status object.Value
	name         string
	init         bool
}

// containersOf returns the containers, the init containers first.
func containersOf(pod object.Object) (all []container) {
	for _, list := range []struct {
		spec, status string
		init         bool
	}{{"initContainers", "initContainerStatuses", true}, {"containers", "containerStatuses", false}} {
		for _, spec := range pod.Get("spec", list.spec).Items() {
			c := container{spec: spec, name: spec.Get("name").Text(), init: list.init}
			for _, status := range pod.Get("status", list.status).Items() {
				if status.Get("name").Text() == c.name {
					c.status = status
				}
			}
			all = append(all, c)
		}
	}
	return all
}

// podAge is how long the Pod has been there.
func (s *scene) podAge(pod object.Object) int64 {
	return cmp.Or(s.age(pod.Get("status", "startTime").Text()), s.created(pod))
}

var (
	notFound = lazyregexp.New(`(?i)\b(secret|configmap|persistentvolumeclaim|serviceaccount|storageclass\.storage\.k8s\.io` +
		`|priorityclass)s? "([^"/ ]+)" (?:is )?not found`)
	notThere   = lazyregexp.New(`(?i)\b(secret|configmap) ([a-z0-9-]+)/([a-z0-9.-]+) (?:does not exist|not found)`)
	missingKey = lazyregexp.New(`couldn't find key (\S+) in (Secret|ConfigMap) ([^/\s]+)/(\S+)`)
)

// notExecuted is what a container runtime says of a command that the image does not have.
var notExecuted = lazyregexp.New(`exec: "([^"]+)": (.+)$`)

var namedKinds = map[string]object.ID{
	"secret": {Kind: "Secret"}, "configmap": {Kind: "ConfigMap"}, "persistentvolumeclaim": {Kind: "PersistentVolumeClaim"},
	"serviceaccount":              {Kind: "ServiceAccount"},
	"storageclass.storage.k8s.io": {Group: storageGroup, Kind: "StorageClass"},
	"priorityclass":               {Group: "scheduling.k8s.io", Kind: "PriorityClass"},
}

// missingIn returns the object that a message says is missing.
func missingIn(message, namespace string) (id object.ID, ok bool) {
	m := notFound.FindStringSubmatch(message)
	if m == nil {
		if m = notThere.FindStringSubmatch(message); m == nil {
			return id, false
		}
		namespace, m[2] = m[2], m[3]
	}
	id = namedKinds[strings.ToLower(m[1])]
	id.Name = m[2]
	if id.Group == "" {
		id.Namespace = namespace
	}
	return id, true
}

// lacks is the cause of an object that needs one that is missing.
func lacks(missing object.ID, proof string, evidence Evidence) Cause {
	return Cause{Rule: "missing-object", Text: "waits for " + missing.String() + ", which does not exist", Proof: proof,
		Evidence: evidence, Because: missing,
		Fix: "create " + missing.String() + ", or correct the name in the manifest", Command: kubectl("get", missing)}
}

// lacksKey is the cause of a Pod that reads a key that is missing.
func lacksKey(m []string, proof string) Cause {
	id := object.ID{Kind: m[2], Namespace: m[3], Name: m[4]}
	return Cause{Rule: "missing-key", Text: fmt.Sprintf("waits for key %s of %s, which has no such key", m[1], id), Proof: proof,
		Evidence: Refusal,
		Fix:      "add the key, or correct its name in the manifest", Command: kubectl("describe", id)}
}

// preemption is what the scheduler says of evicting other Pods, after the reasons.
var preemption = lazyregexp.New(`(?: no new claims to deallocate,)? preemption:.*`)

// podScheduling finds out why a Pod has no node.
func podScheduling(s *scene, pod object.Object) (all []Cause) {
	c := conditionOf(pod, "PodScheduled")
	age := max(s.age(c.since), s.podAge(pod))
	switch {
	case c.status != "False" && pod.Get("spec", "nodeName").Text() == "" && s.podAge(pod) > briefly &&
		pod.Get("status", "phase").Text() == "Pending":
		return []Cause{{Rule: "no-scheduler", Text: "has a Pod that no scheduler has looked at",
			Proof: "Pod " + pod.ID.Name + " has no condition PodScheduled", Evidence: Appearance,
			Fix:     "start the scheduler " + cmp.Or(pod.Get("spec", "schedulerName").Text(), "default-scheduler"),
			Command: kubectl("describe", pod.ID)}}
	case c.status != "False":
		return nil
	}
	proof := said("PodScheduled", c.reason, c.message)
	young := age < briefly
	if scale := s.eventsOf(pod.ID, "TriggeredScaleUp", "Nominated"); len(scale) > 0 && age < longWhile {
		young = true // a node is being added, says Cluster Autoscaler or Karpenter
	}
	base := Cause{Rule: "unschedulable", Proof: proof, Evidence: Condition, IsYoung: young, Command: kubectl("describe", pod.ID)}
	if missing, ok := missingIn(c.message, pod.ID.Namespace); ok {
		base = lacks(missing, proof, Condition)
		base.IsYoung = young
		return []Cause{base}
	}
	switch {
	case c.reason == "SchedulingGated":
		var gates []string
		for _, g := range pod.Get("spec", "schedulingGates").Items() {
			gates = append(gates, g.Get("name").Text())
		}
		base.Rule, base.Text = "scheduling-gate", "has a Pod that the scheduling gate "+strings.Join(gates, ", ")+" holds back"
		base.Fix = "see why the controller of the gate does not remove it"
		return []Cause{base}
	case strings.Contains(c.message, "unbound immediate PersistentVolumeClaims"):
		for _, v := range pod.Get("spec", "volumes").Items() {
			id := object.ID{Kind: "PersistentVolumeClaim", Namespace: pod.ID.Namespace,
				Name: v.Get("persistentVolumeClaim", "claimName").Text()}
			if claim, ok := s.objects[id]; ok && claim.Get("status", "phase").Text() != "Bound" {
				of := base
				of.Text, of.Because = "waits for "+id.String()+", which is not bound", id
				of.Fix, of.Command = "see why the PVC is not bound", kubectl("describe", id)
				all = append(all, of)
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	base.Text = "has a Pod that fits on no node: " + preemption.ReplaceAllString(c.message, "")
	base.Fix, base.Because = "give the Pod a node that it fits on", s.nodeSource(pod, c.message)
	return []Cause{understand("unschedulable", c.message, pod, base)}
}

// poolOf returns the NodePool of Karpenter that the nodeSelector of a Pod names.
func poolOf(pod object.Object) object.ID {
	return object.ID{Group: "karpenter.sh", Kind: "NodePool", Name: pod.Get("spec", "nodeSelector", "karpenter.sh/nodepool").Text()}
}

var lackingDevice = lazyregexp.New(`Insufficient ([a-z0-9-]+)[a-z0-9.-]*/`)

// nodeSource returns what should give a Pod its node: the NodePool that its nodeSelector names, or
// the DaemonSet of the vendor of the device that no node has, if it does not.
func (s *scene) nodeSource(pod object.Object, message string) object.ID {
	pool := poolOf(pod)
	if o, ok := s.objects[pool]; ok && conditionOf(o, "Ready").status == "False" {
		return pool
	}
	m := lackingDevice.FindStringSubmatch(message)
	for _, id := range s.sorted {
		if m != nil && id.Kind == "DaemonSet" && strings.Contains(id.Name, m[1]) &&
			slices.ContainsFunc(s.parts(s.objects[id]), func(p object.Object) bool { return len(podContainers(s, p)) > 0 }) {
			return id
		}
	}
	return object.ID{}
}

// pullReasons are the reasons of a container that waits for its image (kubernetes/kubernetes,
// pkg/kubelet/images/types.go).
var pullReasons = []string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError",
	"RegistryUnavailable", "SignatureValidationFailed"}

// podContainers finds out why a container does not run.
func podContainers(s *scene, pod object.Object) (all []Cause) {
	for _, c := range containersOf(pod) {
		waiting := c.status.Get("state", "waiting")
		reason, message := waiting.Get("reason").Text(), oneLine(waiting.Get("message").Text())
		proof := said("Pod "+pod.ID.Name+":", reason, message)
		switch {
		case slices.Contains(pullReasons, reason):
			all = append(all, s.pull(pod, c, reason, message))
		case reason == "CreateContainerConfigError":
			cause := Cause{Rule: "container-config", Text: "cannot create container " + c.name + ": " + message, Proof: proof,
				Evidence: Refusal,
				Fix:      "correct the container in the manifest", Command: kubectl("describe", pod.ID)}
			if missing, ok := missingIn(message, pod.ID.Namespace); ok {
				cause = lacks(missing, proof, Refusal)
			} else if m := missingKey.FindStringSubmatch(message); m != nil {
				cause = lacksKey(m, proof)
			}
			cause.IsYoung = s.podAge(pod) < briefly
			all = append(all, cause)
		case reason == "CreateContainerError" || reason == "RunContainerError" || reason == "PostStartHookError" ||
			reason == "PreCreateHookError":
			all = append(all, Cause{Rule: "container-start", Text: "cannot start container " + c.name + ": " + message,
				Proof: proof, Evidence: Refusal,
				Fix: "correct command, mounts or security context of the container", Command: kubectl("describe", pod.ID)})
		default:
			all = append(all, s.crash(pod, c, reason)...)
		}
	}
	return all
}

// pull is the cause of a container without an image.
func (s *scene) pull(pod object.Object, c container, reason, message string) Cause {
	image := c.spec.Get("image").Text()
	for _, e := range s.eventsOf(pod.ID, "Failed") { // while it backs off, only the Event has the registry's words
		if strings.Contains(e.message, "Failed to pull image") && strings.Contains(e.message, image) &&
			!strings.Contains(message, "rpc error") {
			message = e.message
			break
		}
	}
	secret := ""
	for _, e := range s.eventsOf(pod.ID, "FailedToRetrieveImagePullSecret") {
		secret = e.message
	}
	cause := understand("pull", reason+" "+message, pod,
		Cause{Rule: "image", Text: fmt.Sprintf("cannot pull image %s of container %s", image, c.name),
			Proof: said("Pod "+pod.ID.Name+":", reason, message), Evidence: Refusal,
			IsYoung: reason == "ErrImagePull" && s.podAge(pod) < briefly/2, Fix: "correct the image, or push it",
			Command: kubectl("describe", pod.ID)})
	if secret != "" {
		cause.Fix = "create the Secret of imagePullSecrets: " + secret
	}
	return cause
}

// crash is the cause of a container that exits again and again. A program may crash while it
// waits for another one; it is blamed once it has crashed three times.
func (s *scene) crash(pod object.Object, c container, waiting string) []Cause {
	restarts := number(c.status.Get("restartCount"), 0)
	end := c.status.Get("lastState", "terminated")
	if now := c.status.Get("state", "terminated"); now.Exists() {
		end = now
	}
	code := number(end.Get("exitCode"), 0)
	isJob := pod.Get("spec", "restartPolicy").Text() == "Never"
	switch {
	case !end.Exists(), waiting != "CrashLoopBackOff" && c.status.Get("ready").True(), code == 0 &&
		end.Get("reason").Text() == "Completed" && (c.init || isJob || waiting != "CrashLoopBackOff"):
		return nil
	case waiting != "CrashLoopBackOff" && !isJob && (restarts < 3 || s.age(end.Get("finishedAt").Text()) > longWhile):
		return nil // once in a while, such as with its node
	}
	reason := end.Get("reason").Text()
	text := fmt.Sprintf("crashes: container %s exits with code %d", c.name, code)
	fix := "read the log of the container, and correct what it reports"
	limit := c.spec.Get("resources", "limits", "memory").Text()
	if limit != "" {
		limit = "limit of " + limit
	}
	switch {
	case reason == "OOMKilled":
		text = fmt.Sprintf("crashes: container %s needs more memory than its %s (OOMKilled)", c.name, cmp.Or(limit, "node has"))
		fix = "raise resources.limits.memory"
	case s.killedByProbe(pod, c.name):
		text = fmt.Sprintf("restarts: the liveness or startup probe of container %s fails", c.name)
		fix = "correct the probe, or give the program more time with a startup probe"
	case code == 0:
		text = fmt.Sprintf("restarts: container %s exits with code 0, but should run permanently", c.name)
		fix = "correct the command of the container, or use a Job"
	case code == 126, code == 127, reason == "ContainerCannotRun", reason == "StartError":
		fix = "correct the command of the container: it cannot be executed"
	}
	words := cmp.Or(end.Get("message").Text(), s.Logs[Container{pod.ID, c.name}])
	last := oneLine(words)
	if lines := strings.Split(strings.TrimSpace(words), "\n"); reason != "OOMKilled" && code != 0 && code != 137 && last != "" {
		text += ": " + finding.CutMiddle(oneLine(lines[len(lines)-1]), maxDetail/2)
	}
	if m := notExecuted.FindStringSubmatch(last); m != nil {
		text = fmt.Sprintf("cannot start container %s: its command %s cannot be executed: %s", c.name, m[1],
			strings.TrimSuffix(m[2], ": unknown"))
	}
	because := object.ID{}
	switch {
	case unreachable.MatchString(last):
		because = s.named(last, pod)
	case last == "": // its log is gone, or may not be read
		because = s.named(commandOf(c), pod)
	}
	proof := said("Pod "+pod.ID.Name+":", reason, last)
	if restarts > 0 {
		proof += fmt.Sprintf(", %d restarts", restarts)
	}
	more := []string{"-c", c.name}
	if restarts > 0 && waiting != "" {
		more = append(more, "--previous")
	}
	return []Cause{{Rule: "crash", Text: text, Proof: proof, Evidence: Refusal, IsYoung: restarts < 3 && s.podAge(pod) < aWhile &&
		!isJob || isJob && s.jobRetries(pod),
		Because: because, Fix: fix, Command: kubectl("logs", pod.ID, more...)}}
}

// jobRetries reports whether the Job of a Pod may still run another one.
func (s *scene) jobRetries(pod object.Object) bool {
	for _, owner := range pod.Get("metadata", "ownerReferences").Items() {
		id := object.ID{Group: batchGroup, Kind: "Job", Namespace: pod.ID.Namespace, Name: owner.Get("name").Text()}
		if o, ok := s.objects[id]; ok && owner.Get("kind").Text() == id.Kind {
			return conditionOf(o, "Failed").status != "True" && conditionOf(o, "FailureTarget").status != "True" &&
				number(o.Get("status", "failed"), 0) < 3
		}
	}
	return false
}

func (s *scene) killedByProbe(pod object.Object, container string) bool {
	return slices.ContainsFunc(s.eventsOf(pod.ID, "Killing"), func(e event) bool {
		return strings.Contains(e.message, "Container "+container+" failed") && strings.Contains(e.message, "probe")
	})
}
