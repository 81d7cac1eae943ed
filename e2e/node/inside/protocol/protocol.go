// Package protocol defines the messages between a node and the process that started it.
package protocol

// Spec describes a node. It is stored in node.json.
type Spec struct {
	Hostname string
	// Cgroups are directories that exist, one for each hierarchy; the node's
	// processes see them as roots.
	Cgroups []string
	// Controllers are the hierarchies of cgroup v1 to mount below /sys/fs/cgroup.
	Controllers []string
	// Binds are directories and files to mount over others: a path of the node to a
	// path of the machine.
	Binds map[string]string
	// Address is the node's own, such as 10.200.0.2/24. Gateway is the router's address,
	// or leads nowhere.
	Address, Gateway string
	// Router is the node that this one is connected to. Nil is none.
	Router  *Router `json:",omitempty"`
	Sysctls map[string]string
	// Forwards lead connections into and out of the node's network: an address to
	// listen at to one to connect to. An address that begins with a slash is that of
	// a Unix socket, all others are TCP.
	Forwards map[string]string
}

// Router is a node that leads to others, and what it needs to know of one of them.
type Router struct {
	Dir     string // of the router: the host's number of its process 1 is in its file pid
	Link    string // name of the link to the other, as the router sees it
	Address string // of the router on this link, such as 10.200.1.1/24
	Pods    string // subnet of the other's Pods
	Via     string // address of the other
}

// Run asks for a program; one per line of standard input, as JSON.
type Run struct {
	Name string // of the program in events
	Path string
	Args []string
	Env  []string
	Log  string // file of its output
	// After is a Unix socket that must accept connections before the program starts,
	// for those that give up if a server is not there yet. Empty is none.
	After string
}

// Event says that a program has started or ended; one per line of standard output.
type Event struct {
	Name  string
	Ended bool
	Error string `json:",omitempty"`
}
