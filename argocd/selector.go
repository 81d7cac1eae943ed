package argocd

import (
	"fmt"
	"slices"
	"strconv"
)

// Selector selects by labels.
type Selector struct {
	MatchLabels      map[string]string `yaml:"matchLabels,omitempty" json:"matchLabels"`
	MatchExpressions []Expression      `yaml:"matchExpressions,omitempty" json:"matchExpressions"`
}

// Expression is a condition on a label.
type Expression struct {
	Key      string   `yaml:"key" json:"key"`
	Operator string   `yaml:"operator" json:"operator"`
	Values   []string `yaml:"values,flow" json:"values"`
}

// IsEmpty reports whether a selector selects everything.
func (s Selector) IsEmpty() bool { return len(s.MatchLabels)+len(s.MatchExpressions) == 0 }

// Matches reports whether the selector matches labels. The error is about an operator.
func (s Selector) Matches(labels map[string]string) (bool, error) {
	for key, value := range s.MatchLabels {
		if got, there := labels[key]; !there || got != value {
			return false, nil
		}
	}
	for _, x := range s.MatchExpressions {
		if is, err := x.Matches(labels); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

// Matches reports whether labels fulfill the condition. In contrast to Kubernetes, values may be
// any text.
func (x Expression) Matches(labels map[string]string) (bool, error) {
	value, there := labels[x.Key]
	in := slices.Contains(x.Values, value)
	switch x.Operator {
	case "In":
		return there && in, nil
	case "NotIn":
		return !there || !in, nil
	case "Exists":
		return there, nil
	case "DoesNotExist":
		return !there, nil
	case "Gt", "Lt":
		if len(x.Values) != 1 {
			return false, fmt.Errorf("the operator %s of a selector takes one value, not %d", x.Operator, len(x.Values))
		}
		limit, err := strconv.ParseInt(x.Values[0], 10, 64)
		if err != nil {
			return false, fmt.Errorf("the operator %s of a selector takes a whole number", x.Operator)
		}
		number, err := strconv.ParseInt(value, 10, 64)
		return err == nil && (x.Operator == "Gt" && number > limit || x.Operator == "Lt" && number < limit), nil
	}
	return false, fmt.Errorf("unknown operator %q in a selector", x.Operator)
}
