package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
)

// podEvents finds out why a Pod that has a node does not start its containers.
func podEvents(s *scene, pod object.Object) (all []Cause) {
	starts := slices.ContainsFunc(containersOf(pod), func(c container) bool {
		reason := c.status.Get("state", "waiting", "reason").Text()
		return reason == "ContainerCreating" || reason == "PodInitializing" && c.init || !c.status.Exists()
	})
	if !starts || pod.Get("spec", "nodeName").Text() == "" || isTerminating(pod) || pod.Get("status", "phase").Text() != "Pending" {
		return nil
	}
	young := s.podAge(pod) < briefly
	for _, e := range s.eventsOf(pod.ID, "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox", "FailedCreatePodSandbox", "NetworkNotReady") {
		proof := said("Pod "+pod.ID.Name+":", e.reason, e.message)
		cause := Cause{Proof: proof, Evidence: Event, IsYoung: young, Command: kubectl("describe", pod.ID)}
		switch missing, ok := missingIn(e.message, pod.ID.Namespace); {
		case ok:
			cause = lacks(missing, proof, Event)
			cause.IsYoung = young
		case volumeKey.MatchString(e.message):
			cause.Rule, cause.Text, cause.Fix = "missing-key", "waits for key "+volumeKey.FindStringSubmatch(e.message)[2]+" of a "+keyKind(e.message)+" that it mounts, which has no such key", "add the key, or correct items of the volume"
		case strings.Contains(e.message, "failed to sync") && strings.Contains(e.message, "cache: timed out"):
			continue // the kubelet has just started
		case e.reason == "FailedAttachVolume" && strings.Contains(e.message, "Multi-Attach error"):
			cause.Rule, cause.Text, cause.Fix = "volume", "waits for a volume that is still attached to another node", "delete the Pod that uses the volume, or use the strategy Recreate"
		case strings.HasPrefix(e.reason, "FailedCreatePodSand"), e.reason == "NetworkNotReady":
			cause.Rule, cause.Text, cause.Fix = "network", "cannot start its Pod: the node gives it no network", "repair the network plugin of node "+pod.Get("spec", "nodeName").Text()
		default:
			cause.Rule, cause.Text, cause.Fix = "volume", "cannot mount a volume", "correct the volume, or repair its CSI driver"
		}
		return append(all, cause) // the latest says the state
	}
	return nil
}

func keyKind(message string) string {
	if strings.Contains(message, "non-existent config key") {
		return "ConfigMap"
	}
	return "Secret"
}

// podReadiness finds out why a Pod that runs is not ready.
func podReadiness(s *scene, pod object.Object) (all []Cause) {
	ready := conditionOf(pod, "Ready")
	if ready.status == "True" || pod.Get("status", "phase").Text() != running || isTerminating(pod) {
		return s.waitingInit(pod)
	}
	for _, gate := range pod.Get("spec", "readinessGates").Items() {
		kind := gate.Get("conditionType").Text()
		if c := conditionOf(pod, kind); c.status != "True" && conditionOf(pod, "ContainersReady").status == "True" {
			all = append(all, Cause{Rule: "readiness-gate", Text: "is not ready: nothing has set the readiness gate " + kind, Proof: said("Pod "+pod.ID.Name+":", "condition "+kind, c.message), Evidence: Condition,
				IsYoung: s.podAge(pod) < aWhile, Fix: "see why the controller of the gate does not set it", Command: kubectl("describe", pod.ID)})
		}
	}
	for _, c := range containersOf(pod) {
		since := s.age(c.status.Get("state", "running", "startedAt").Text())
		if c.init || c.status.Get("ready").True() || !c.status.Get("state", "running").Exists() {
			continue
		}
		for _, e := range s.eventsOf(pod.ID, "Unhealthy") {
			probe, what, ok := strings.Cut(e.message, " probe ")
			if !ok || probe == "Liveness" {
				continue
			}
			restarts := number(c.status.Get("restartCount"), 0)
			all = append(all, Cause{Rule: "probe", Text: fmt.Sprintf("is not ready: the %s probe of container %s fails", strings.ToLower(probe), c.name),
				Proof: said("Pod "+pod.ID.Name+":", e.reason, probe+" probe "+what), Evidence: Event, IsYoung: since < aWhile && restarts < 3,
				Fix: "see in the log why the program does not answer, or correct the probe", Command: kubectl("logs", pod.ID, "-c", c.name)})
			break
		}
		if len(all) == 0 && since >= longWhile {
			all = append(all, Cause{Rule: "probe", Text: fmt.Sprintf("is not ready: container %s runs, but its readiness probe has not succeeded", c.name),
				Proof: said("Pod "+pod.ID.Name+":", ready.reason, ready.message), Evidence: Condition,
				Fix: "see in the log what the program waits for", Command: kubectl("logs", pod.ID, "-c", c.name)})
		}
	}
	return all
}

// waitingInit finds an init container that has been running for long: it probably waits for
// something, and only its log says what.
func (s *scene) waitingInit(pod object.Object) []Cause {
	if pod.Get("status", "phase").Text() != "Pending" || isTerminating(pod) {
		return nil
	}
	for _, c := range containersOf(pod) {
		since := s.age(c.status.Get("state", "running", "startedAt").Text())
		if !c.init || since == 0 || c.spec.Get("restartPolicy").Text() == "Always" {
			continue
		}
		log := oneLine(s.Logs[Container{pod.ID, c.name}])
		return []Cause{{Rule: "init-container", Text: fmt.Sprintf("waits for its init container %s, which does not end", c.name), Proof: said("Pod "+pod.ID.Name+":", "PodInitializing", log), Evidence: Appearance,
			IsYoung: since < aWhile, Fix: "see in its log what it waits for", Command: kubectl("logs", pod.ID, "-c", c.name)}}
	}
	return nil
}

// podEnd finds out why a Pod was ended by its node.
func podEnd(_ *scene, pod object.Object) []Cause {
	reason := pod.Get("status", "reason").Text()
	if pod.Get("status", "phase").Text() != failed || reason == "" {
		return nil
	}
	message := pod.Get("status", "message").Text()
	fix := "see why the node ended the Pod"
	switch reason {
	case "Evicted":
		fix = "lower what the Pod uses, or raise its requests"
	case "DeadlineExceeded":
		fix = "raise activeDeadlineSeconds"
	}
	return []Cause{{Rule: "pod-ended", Text: "has a Pod that its node has ended: " + reason, Proof: said("Pod "+pod.ID.Name+":", reason, message), Evidence: Condition, Fix: fix, Command: kubectl("describe", pod.ID)}}
}

// podsRefused finds out why a workload has fewer Pods than it should.
func podsRefused(s *scene, o object.Object) []Cause {
	var reason, message string
	evidence := Event
	if c := conditionOf(o, "ReplicaFailure"); c.status == "True" {
		reason, message, evidence = c.reason, c.message, Condition
	}
	if events := s.eventsOf(o.ID, "FailedCreate"); len(events) > 0 && s.hasTooFew(o) {
		reason, message, evidence = events[0].reason, events[0].message, Event
	}
	if message == "" {
		return nil
	}
	cause := s.refused(message, o.ID)
	cause.Proof, cause.Evidence = said(o.ID.String()+":", reason, message), evidence
	cause.IsYoung = s.created(o) < briefly
	return []Cause{cause}
}

// hasTooFew reports whether a workload has fewer Pods than it should. Events of earlier failures
// stay for an hour.
func (s *scene) hasTooFew(o object.Object) bool {
	status := o.Get("status")
	switch o.ID.Kind {
	case "DaemonSet":
		return number(status.Get("currentNumberScheduled"), 0) < number(status.Get("desiredNumberScheduled"), 0)
	case "Job":
		done := number(status.Get("active"), 0) + number(status.Get("succeeded"), 0) + number(status.Get("failed"), 0)
		return done == 0
	case "StatefulSet":
		return number(status.Get("replicas"), 0) < number(o.Get("spec", "replicas"), 1) && len(s.owned(o, "Pod")) < number(o.Get("spec", "replicas"), 1)
	case "ReplicaSet":
		return number(status.Get("replicas"), 0) < number(o.Get("spec", "replicas"), 1)
	}
	return false
}
