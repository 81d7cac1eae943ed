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
	for _, e := range s.eventsOf(pod.ID, "FailedMount", "FailedAttachVolume", "FailedMapVolume", "FailedCreatePodSandBox",
		"FailedCreatePodSandbox", "NetworkNotReady") {
		proof := said("Pod "+pod.ID.Name+":", e.reason, e.message)
		if strings.Contains(e.message, "failed to sync") && strings.Contains(e.message, "cache: timed out") {
			continue // the kubelet has just started
		}
		cause := understand("mount", e.reason+" "+e.message, pod, Cause{Proof: proof, Evidence: Event, Command: kubectl("describe", pod.ID)})
		if missing, ok := missingIn(e.message, pod.ID.Namespace); ok {
			cause = lacks(missing, proof, Event)
		} else if i := slices.IndexFunc(s.sorted, func(id object.ID) bool {
			return s.isCustom(id) &&
				strings.Contains(e.message, `volume "`+id.Name+`"`)
		}); i >= 0 {
			cause.Because = s.sorted[i] // such as the Volume of Longhorn
		}
		cause.IsYoung = young
		return append(all, cause) // the latest says the state
	}
	return nil
}

// podReadiness finds out why a Pod that runs is not ready.
func podReadiness(s *scene, pod object.Object) (all []Cause) {
	ready := conditionOf(pod, "Ready")
	phase := pod.Get("status", "phase").Text()
	if ready.status == "True" || phase != running && phase != "Pending" || isTerminating(pod) {
		return nil
	}
	for _, gate := range pod.Get("spec", "readinessGates").Items() {
		kind := gate.Get("conditionType").Text()
		if c := conditionOf(pod, kind); c.status != "True" && conditionOf(pod, "ContainersReady").status == "True" {
			all = append(all, Cause{Rule: "readiness-gate", Text: "is not ready: nothing has set the readiness gate " + kind,
				Proof: said("Pod "+pod.ID.Name+":", "condition "+kind, c.message), Evidence: Condition,
				IsYoung: s.podAge(pod) < aWhile, Fix: "see why the controller of the gate does not set it", Command: kubectl("describe", pod.ID)})
		}
	}
	for _, c := range containersOf(pod) {
		since := s.age(c.status.Get("state", "running", "startedAt").Text())
		if c.status.Get("ready").True() || !c.status.Get("state", "running").Exists() {
			continue
		}
		if c.init && c.spec.Get("restartPolicy").Text() != "Always" { // it probably waits for something, and only its log says what
			return append(all, Cause{Rule: "init-container",
				Text:  fmt.Sprintf("waits for its init container %s, which does not end", c.name),
				Proof: said("Pod "+pod.ID.Name+":", "PodInitializing", s.Logs[Container{pod.ID, c.name}]), Evidence: Appearance,
				Because: s.named(commandOf(c)+" "+s.Logs[Container{pod.ID, c.name}], pod),
				IsYoung: since < aWhile, Fix: "see in its log what it waits for", Command: kubectl("logs", pod.ID, "-c", c.name)})
		}
		restarts := number(c.status.Get("restartCount"), 0)
		if restarts > 0 { // one attempt of several
			since = max(since, s.age(ready.since))
		}
		for _, e := range s.eventsOf(pod.ID, "Unhealthy") {
			probe, what, ok := strings.Cut(e.message, " probe ")
			if !ok || probe == "Liveness" {
				continue
			}
			because := object.ID{}
			if unreachable.MatchString(what) {
				because = s.named(what, pod)
			}
			all = append(all, Cause{Rule: "probe", Because: because,
				Text:  fmt.Sprintf("is not ready: the %s probe of container %s fails", strings.ToLower(probe), c.name),
				Proof: said("Pod "+pod.ID.Name+":", e.reason, probe+" probe "+what), Evidence: Event, IsYoung: since < aWhile && restarts < 3,
				Fix: "see in the log why the program does not answer, or correct the probe", Command: kubectl("logs", pod.ID, "-c", c.name)})
			break
		}
		if len(all) == 0 && since >= longWhile+int64(number(c.spec.Get("readinessProbe", "initialDelaySeconds"), 0)) {
			all = append(all, Cause{Rule: "probe",
				Text:  fmt.Sprintf("is not ready: container %s runs, but its readiness probe has not succeeded", c.name),
				Proof: said("Pod "+pod.ID.Name+":", ready.reason, ready.message), Evidence: Condition,
				Fix: "see in the log what the program waits for", Command: kubectl("logs", pod.ID, "-c", c.name)})
		}
	}
	return all
}

// keptAlive finds the Pod of a Job of which a container has done its work and another one does
// not end, such as a proxy that was injected.
func keptAlive(s *scene, pod object.Object) []Cause {
	if pod.Get("spec", "restartPolicy").Text() == "Always" || pod.Get("status", "phase").Text() != running || isTerminating(pod) {
		return nil
	}
	done, since, runs := "", int64(0), ""
	for _, c := range containersOf(pod) {
		end := c.status.Get("state", "terminated")
		switch {
		case c.init:
		case c.status.Get("state", "running").Exists():
			runs = c.name
		case end.Get("exitCode").Text() == "0":
			done, since = c.name, s.age(end.Get("finishedAt").Text())
		}
	}
	if done == "" || runs == "" {
		return nil
	}
	return []Cause{{Rule: "sidecar", Text: fmt.Sprintf("does not end: container %s is done, but container %s still runs", done,
		runs), Proof: fmt.Sprintf("Pod %s: %s Completed, %s Running", pod.ID.Name, done, runs), Evidence: Condition,
		IsYoung: since < aWhile, Fix: "make " + runs + " an init container with restartPolicy Always, or end it with the Job",
		Command: kubectl("logs", pod.ID, "-c", runs)}}
}

// podEnd finds out why a Pod was ended by its node.
func podEnd(s *scene, pod object.Object) []Cause {
	reason := pod.Get("status", "reason").Text()
	if pod.Get("status", "phase").Text() != failed || reason == "" || s.isReplaced(pod) {
		return nil
	}
	return []Cause{understand("ended", reason, pod,
		Cause{Rule: "pod-ended", Text: "has a Pod that its node has ended: " + reason,
			Proof:    said("Pod "+pod.ID.Name+":", reason, pod.Get("status", "message").Text()),
			Evidence: Condition, Fix: "see why the node ended the Pod", Command: kubectl("describe", pod.ID)})}
}

// isReplaced reports whether the owner of a Pod has made another one since, or has all that it wants.
func (s *scene) isReplaced(pod object.Object) bool {
	created := Time(pod.Get("metadata", "creationTimestamp").Text())
	for _, owner := range pod.Get("metadata", "ownerReferences").Items() {
		alive, newer := 0, false
		for _, id := range s.children[owner.Get("uid").Text()] {
			if o := s.objects[id]; id.Kind == "Pod" && o.Get("status", "phase").Text() != failed {
				alive++
				newer = newer || Time(o.Get("metadata", "creationTimestamp").Text()) >= created
			}
		}
		set, ok := s.objects[object.ID{Group: appsGroup, Kind: owner.Get("kind").Text(),
			Namespace: pod.ID.Namespace, Name: owner.Get("name").Text()}]
		if newer || ok && alive > 0 && alive >= number(set.Get("spec", "replicas"), 1) {
			return true
		}
	}
	return false
}

// podNode finds Pods that nobody runs or ends any more, because their node does not answer.
func podNode(s *scene, pod object.Object) []Cause {
	if !isLeft(pod) || pod.Get("spec", "nodeName").Text() == "" {
		return nil
	}
	node := object.ID{Kind: "Node", Name: pod.Get("spec", "nodeName").Text()}
	cause := Cause{Rule: "node", Evidence: Condition, Fix: "repair the node, or delete its Node object if it is gone",
		Command: kubectl("describe", node)}
	var ready condition
	if o, ok := s.objects[node]; ok {
		ready = conditionOf(o, "Ready")
	}
	switch events := s.eventsOf(pod.ID, "NodeNotReady"); {
	case ready.status == "False" || ready.status == "Unknown":
		cause.Text, cause.Proof, cause.IsYoung = "has a Pod on "+node.String()+", which is not ready: "+ready.message,
			said(node.String()+":", ready.reason, ready.message), s.age(ready.since) < briefly
	case ready.status == "" && len(events) > 0:
		cause.Text, cause.Proof, cause.IsYoung = "has a Pod on "+node.String()+", which is not ready",
			said("Pod "+pod.ID.Name+":", events[0].reason, events[0].message), s.Now-events[0].last < briefly
	case isTerminating(pod):
		at := pod.Get("metadata", "deletionTimestamp").Text()
		cause.Rule, cause.Text, cause.Proof, cause.IsYoung = "pod-terminating",
			"has a Pod that does not end: "+pod.ID.Name+" should be gone", "metadata.deletionTimestamp "+at, s.age(at) < 2*briefly
		cause.Fix, cause.Command = "see whether a finalizer, a volume or its node holds it", kubectl("describe", pod.ID)
	default:
		return nil
	}
	return []Cause{cause}
}

// isLeft reports whether a Pod is to be gone, or is not ready though its containers are: that says
// the controller of nodes. What a Deployment replaces, nobody waits for.
func isLeft(pod object.Object) bool {
	if isTerminating(pod) {
		return true
	}
	ready := conditionOf(pod, "Ready").status == "False"
	return ready && !slices.ContainsFunc(containersOf(pod), func(c container) bool { return !c.init && !c.status.Get("ready").True() })
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
		return number(status.Get("replicas"), 0) < number(o.Get("spec", "replicas"), 1) &&
			len(s.owned(o, "Pod")) < number(o.Get("spec", "replicas"), 1)
	case "ReplicaSet":
		return number(status.Get("replicas"), 0) < number(o.Get("spec", "replicas"), 1)
	}
	return false
}
