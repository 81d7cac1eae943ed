package a

func same(n int) int { return int(n) } // want "unnecessary conversion"

func other(n int) int64 { return int64(n) }
