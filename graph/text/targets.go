package text

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Target is what a program certainly waits for: a host, or an object.
type Target struct {
	// Host is a host; empty for an object.
	Host string
	// IsResolved means that the program only looks the host up.
	IsResolved bool
	// Kind is the kind of an object, as the program calls it.
	Kind string
	// Namespace is empty for that of the program.
	Name, Namespace string
	// Labels select Pods where no name is given.
	Labels map[string]string
}

// targetsOf returns what a program waits for, by its arguments and variables.
func targetsOf(base *knowledge.Base, by *knowledge.Waiter, arguments []string, variables map[string]string) (all []Target) {
	switch by.Takes {
	case knowledge.TakesHosts, knowledge.TakesAddresses:
		for _, host := range hostsIn(base, by, arguments) {
			all = append(all, Target{Host: host, IsResolved: by.Resolves})
		}
	case knowledge.TakesObjects:
		all = objectsIn(by, arguments)
	}
	for name, kind := range by.Variables {
		all = append(all, dependenciesIn(kind, variables[name])...)
	}
	return all
}

// hostsIn returns the hosts in the arguments of a program up to "--", behind which is another
// command.
func hostsIn(base *knowledge.Base, by *knowledge.Waiter, arguments []string) (all []string) {
	before := ""
	for _, argument := range arguments {
		if argument == "--" {
			break
		}
		flag, value, isAssigned := strings.Cut(argument, "=")
		isFlag := strings.HasPrefix(argument, "-")
		ofFlag := before
		if before = argument; isFlag && isAssigned {
			ofFlag, argument = flag, value
		} else if isFlag {
			continue
		}
		switch isURL := strings.Contains(argument, "://"); {
		case by.IsAddressFlag(base, ofFlag):
			all = append(all, hostsOf(argument, true)...)
		case len(by.Flags) > 0 && by.Takes == knowledge.TakesAddresses || slices.Contains(by.Apart, ofFlag):
		case !strings.HasPrefix(ofFlag, "-") || by.AreSwitches(ofFlag):
			all = append(all, hostsOf(argument, by.Takes == knowledge.TakesHosts)...)
		case isURL || strings.HasPrefix(ofFlag, "--") && !isAssigned:
			all = append(all, hostsOf(argument, false)...)
		}
	}
	return all
}

// hostsOf returns the hosts in an argument that is a URL, a host with its port or, where bare
// names are taken for hosts, only a host.
func hostsOf(argument string, bare bool) (all []string) {
	if m := authority.FindStringSubmatch(argument); m != nil {
		argument, bare = m[1], true
	} else {
		argument, _, _ = strings.Cut(argument, "/")
	}
	for part := range strings.SplitSeq(argument, ",") {
		if m := hostAndPort.FindStringSubmatch(part); m != nil && (bare || m[2] != "") {
			all = append(all, m[1])
		}
	}
	return all
}

var (
	authority   = lazyregexp.New(`^[a-zA-Z][\w+.:-]*://(?:[^/?#]*@)?([^/?#;@]*)`)
	hostAndPort = lazyregexp.New(`^([a-z0-9.-]*[a-z][a-z0-9.-]*?)\.?(:\d+)?$`)
)

// objectsIn returns the objects in arguments as those of kubectl: TYPE/NAME, TYPE NAME, or
// TYPE with a selector.
func objectsIn(by *knowledge.Waiter, arguments []string) (all []Target) {
	var words []string
	namespace, selector := "", ""
	for i := 0; i < len(arguments); i++ {
		argument := arguments[i]
		flag, value, isAssigned := strings.Cut(argument, "=")
		if flag = strings.TrimRight(flag, " "); argument == "--" {
			break
		}
		if strings.HasPrefix(argument, "-l") && len(argument) > len("-l") {
			flag, value, isAssigned = "-l", argument[len("-l"):], true
		}
		isNamespace, isSelector := flag == "-n" || flag == "--namespace", flag == "-l" || flag == "--selector"
		if !isAssigned && (isNamespace || isSelector || slices.Contains(by.Apart, flag)) && i+1 < len(arguments) {
			i++
			value = arguments[i]
		}
		switch {
		case isNamespace:
			namespace = value
		case isSelector:
			selector = value
		case !strings.HasPrefix(argument, "-") && !by.IsCommandWord(argument):
			words = append(words, argument)
		}
	}
	kind := ""
	for _, word := range words {
		typed, name, hasName := strings.Cut(word, "/")
		switch {
		case hasName:
			all = append(all, Target{Kind: kindIn(typed), Name: name, Namespace: namespace})
		case kind == "":
			kind = kindIn(word)
		default:
			all = append(all, Target{Kind: kind, Name: word, Namespace: namespace})
		}
	}
	if labels := labelsIn(selector); labels != nil && kind != "" && by.SelectsSome {
		all = append(all, Target{Kind: kind, Namespace: namespace, Labels: labels})
	}
	return all
}

// kindIn returns a kind without its group, and without what k8s-wait-for appends to it.
func kindIn(word string) string {
	kind, _, _ := strings.Cut(word, ".")
	return strings.TrimSuffix(strings.TrimSuffix(kind, "-we"), "-wr")
}

// labelsIn reads a selector of equalities; nil if it has others.
func labelsIn(selector string) map[string]string {
	all := map[string]string{}
	for part := range strings.SplitSeq(selector, ",") {
		key, value, ok := strings.Cut(strings.Replace(part, "==", "=", 1), "=")
		if !ok || strings.HasSuffix(key, "!") {
			return nil
		}
		all[strings.TrimSpace(key)] = strings.TrimSpace(value)
	}
	return all
}

// dependenciesIn reads a variable of kubernetes-entrypoint: names, perhaps behind a namespace
// and a colon, or objects as JSON.
func dependenciesIn(kind, value string) (all []Target) {
	if strings.HasPrefix(strings.TrimSpace(value), "[") {
		var items []struct {
			Kind, Name, Namespace string
			Labels                map[string]string
		}
		if json.Unmarshal([]byte(value), &items) != nil {
			return nil // the program ignores it, too
		}
		for _, item := range items {
			all = append(all, Target{Kind: cmp.Or(kind, item.Kind), Name: item.Name, Namespace: item.Namespace, Labels: item.Labels})
		}
		return all
	}
	for part := range strings.SplitSeq(value, ",") {
		namespace, name, ok := strings.Cut(part, ":")
		if !ok {
			namespace, name = "", part
		}
		if name != "" {
			all = append(all, Target{Kind: kind, Name: name, Namespace: namespace})
		}
	}
	return all
}
