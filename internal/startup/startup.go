// Package startup keeps the garbage collector from running while packages are initialized:
// libraries allocate more than the 4 MB of the first collection, nearly all of which stays.
//
// It imports almost nothing, so that it is initialized before the packages that allocate most.
package startup

import (
	"runtime/debug"
	"sync"
)

// Percent is that of the collector afterwards: what the environment says, or the runtime's default.
var Percent = debug.SetGCPercent(800)

// End restores the collector, which then collects once, for a command that goes on to work.
var End = sync.OnceFunc(func() { debug.SetGCPercent(Percent) })
