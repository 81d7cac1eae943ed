package object

// Plain returns the value as Kubernetes and Helm read it, made of map[string]any, []any
// and scalars: the last of duplicate keys counts, "yes" is a boolean, and a date is a
// string.
func (v Value) Plain() any {
	switch {
	case v.IsMap():
		all := map[string]any{}
		for _, f := range v.Fields() {
			all[f.Key] = f.Value.Plain()
		}
		return all
	case v.IsList():
		all := []any{}
		for _, item := range v.Items() {
			all = append(all, item.Plain())
		}
		return all
	}
	n := v.resolved()
	if n == nil {
		return nil
	}
	if truth, is := oldBool(n); is {
		return truth
	}
	if n.Tag == "!!timestamp" {
		return n.Value
	}
	var plain any
	if err := n.Decode(&plain); err != nil {
		return n.Value
	}
	return plain
}
