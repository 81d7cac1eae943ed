package finding

type Rule string

type Finding struct{ Rule Rule }
