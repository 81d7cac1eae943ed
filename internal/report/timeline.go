package report

// Timeline is a rollout that was played, as other programs read it, too. Times
// are seconds from its start; those that never come are nil.
type Timeline struct {
	// Done is false if the rollout never ends.
	Done         bool    `json:"done"`
	TotalSeconds float64 `json:"totalSeconds"`
	// Applications are in the order in which they begin.
	Applications []Span `json:"applications"`
	Steps        []Step `json:"steps"`
	// CriticalPath is what the total is the sum of.
	CriticalPath []Critical `json:"criticalPath"`
	Stuck        []Stuck    `json:"stuck"`
	// Unordered are needs between sets that know nothing of each other.
	Unordered []Crossing `json:"unordered"`
}

// Span is an Application in a rollout.
type Span struct {
	Name  string   `json:"name"`
	Set   string   `json:"set,omitempty"`
	Step  string   `json:"step"`
	Start float64  `json:"start"`
	Ready *float64 `json:"ready"`
	End   *float64 `json:"end"`
	// Takes says why it takes so long, and Why what it waited for.
	Takes string `json:"takes"`
	Why   string `json:"why"`
}

// Step is what is synced at the same time.
type Step struct {
	Set  string `json:"set,omitempty"`
	Step string `json:"step"`
	// MaxUpdate is how many are synced at once; 0 means all.
	MaxUpdate    int      `json:"maxUpdate,omitempty"`
	Manual       bool     `json:"manual,omitempty"`
	Applications []string `json:"applications"`
	Start        *float64 `json:"start"`
	End          *float64 `json:"end"`
}

// Critical is an Application on the critical path.
type Critical struct {
	Name  string  `json:"name"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	Why   string  `json:"why"`
}

// Stuck is an Application that never gets healthy.
type Stuck struct {
	Name   string `json:"name"`
	Begins bool   `json:"begins"`
	Why    string `json:"why"`
}

// Crossing is a need that nothing orders. Waits is how long the one that needs
// the other waits for it.
type Crossing struct {
	From  string  `json:"from"`
	To    string  `json:"to"`
	Waits float64 `json:"waits"`
	Why   string  `json:"why"`
}
