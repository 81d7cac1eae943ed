package double

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// program says which Secret a program writes that has certain arguments. Its
// texts are templates of flags and variables: {name} is the value of --name, or
// of the environment variable of that name.
type program struct {
	Words     []string `json:"words,omitempty"`     // arguments that it has
	Secret    string   `json:"secret"`              // not written where a flag is not there
	Namespace string   `json:"namespace,omitempty"` // empty: its own
	TLS       string   `json:"tls,omitempty"`       // host names, with commas
	Keys      []string `json:"keys,omitempty"`
}

//go:embed programs.yaml
var programsYAML []byte

func builtinPrograms() ([]program, error) {
	var programs []program
	if err := yaml.UnmarshalStrict(programsYAML, &programs); err != nil {
		return nil, fmt.Errorf("reading programs.yaml: %w", err)
	}
	return programs, nil
}

// programProducts is what the programs of a workload or a Job are known to make.
func (t *reconciliation) programProducts(o *unstructured.Unstructured) []Product {
	template, ok := templateOf(o)
	if !ok {
		return nil
	}
	var products []Product
	for _, c := range slices.Concat(template.Spec.InitContainers, template.Spec.Containers) {
		arguments := slices.Concat(c.Command, c.Args)
		flags := map[string]any{}
		for _, variable := range c.Env {
			flags[variable.Name] = variable.Value
		}
		for i, argument := range arguments {
			name, value, given := strings.Cut(strings.TrimLeft(argument, "-"), "=")
			if !given && i+1 < len(arguments) && strings.HasPrefix(argument, "-") {
				value = arguments[i+1]
			}
			// $(NAME) is the value of a variable, of which the namespace of the Pod is the usual one.
			if !strings.HasPrefix(value, "$(") {
				flags[name] = value
			}
		}
		for _, p := range t.programs {
			if slices.ContainsFunc(p.Words, func(word string) bool { return !slices.Contains(arguments, word) }) {
				continue
			}
			for _, name := range expand(flags, p.Secret) {
				product := Product{Kind: "Secret", Name: name, Namespace: expandOne(flags, p.Namespace), Keys: p.Keys, Stays: true}
				if hosts := expandOne(flags, p.TLS); hosts != "" {
					product.TLS = strings.Split(hosts, ",")
				}
				products = append(products, product)
			}
		}
	}
	return products
}
