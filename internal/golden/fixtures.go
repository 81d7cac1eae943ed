package golden

import (
	"math/rand/v2"
	"slices"
)

// Awkward are names with special syntax in some format.
var Awkward = []string{
	`quote"d`, `<b>bold</b>`, `a & b &amp; &#60;`, `[x](y){z}`, `back\slash\N\`, "line\nbreak", "escape\x1b[2J", "turn\u202earound",
	`#35;hash;`, "`tick`", `a|b`, `%%{init: {}}%%`, `x --> y`, `end`, `style a:#b;c`, `]]>`, `Zoë`, `名前`, `🦓`, "soft\u00adhyphen",
	`</script><img src=x onerror=alert(1)>`, `<!--<script>`, `-->`, `</noscript><b>`, `"'\`, "end\u2028of line", `&lt;b&gt;`, `{{.}}`,
}

// Must returns the value of a call that does not fail in tests.
func Must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// Shuffled returns the items in several other orders, deterministically.
func Shuffled[T any](items []T) [][]T {
	random := rand.New(rand.NewPCG(1, 2))
	orders := make([][]T, 5)
	for k := range orders {
		orders[k] = slices.Clone(items)
		random.Shuffle(len(items), func(i, j int) { orders[k][i], orders[k][j] = orders[k][j], orders[k][i] })
	}
	return orders
}
