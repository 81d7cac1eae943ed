package appset

import (
	"fmt"
	"slices"
	"strconv"
)

// selector is a label selector. In contrast to those of Kubernetes, values may be any
// text.
type selector struct {
	MatchLabels      map[string]string `json:"matchLabels"`
	MatchExpressions []expression      `json:"matchExpressions"`
}

type expression struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

func (s selector) empty() bool { return len(s.MatchLabels)+len(s.MatchExpressions) == 0 }

// matches reports whether the selector matches the labels.
func (s selector) matches(labels map[string]string) (bool, error) {
	for key, value := range s.MatchLabels {
		if got, there := labels[key]; !there || got != value {
			return false, nil
		}
	}
	for _, x := range s.MatchExpressions {
		if is, err := x.matches(labels); !is || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (x expression) matches(labels map[string]string) (bool, error) {
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
