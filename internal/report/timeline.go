package report

// Timeline is the JSON form of a simulated rollout. Times are in seconds from its
// start; nil means never.
type Timeline struct {
	// Done is false if the rollout does not complete.
	Done         bool    `json:"done"`
	TotalSeconds float64 `json:"totalSeconds"`
	// Applications are in order of their start.
	Applications []Span `json:"applications"`
	Steps        []Step `json:"steps"`
	// CriticalPath adds up to the total.
	CriticalPath []Critical `json:"criticalPath"`
	Stuck        []Stuck    `json:"stuck"`
	// Unordered are dependencies between ApplicationSets that run independently.
	Unordered []UnorderedDependency `json:"unordered"`
}

// Span is an Application in a rollout.
type Span struct {
	Name  string   `json:"name"`
	Set   string   `json:"set,omitempty"`
	Step  string   `json:"step"`
	Start float64  `json:"start"`
	Ready *float64 `json:"ready"`
	End   *float64 `json:"end"`
	// DurationReason explains the duration, and WaitReason the wait before it.
	DurationReason string `json:"takes"`
	WaitReason     string `json:"why"`
}

// Step is a set of Applications that are synced together.
type Step struct {
	Set  string `json:"set,omitempty"`
	Step string `json:"step"`
	// MaxUpdate limits concurrent syncs; 0 means no limit.
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

// Stuck is an Application that never becomes healthy.
type Stuck struct {
	Name string `json:"name"`
	// Starts means that its sync starts.
	Starts bool   `json:"begins"`
	Why    string `json:"why"`
}

// UnorderedDependency is a dependency between ApplicationSets that run independently.
// WaitSeconds is how long the dependent Application waits.
type UnorderedDependency struct {
	From        string  `json:"from"`
	To          string  `json:"to"`
	WaitSeconds float64 `json:"waits"`
	Why         string  `json:"why"`
}
