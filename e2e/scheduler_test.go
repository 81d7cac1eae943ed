package e2e_test

import "sync"

// scheduler lets stories onto the stage at the same time unless they would meet.
type scheduler struct {
	mu     sync.Mutex
	change *sync.Cond
	held   map[string]hold
	inside int
	alone  bool
}

// hold is a claim that is held. Stories that mean the same by it hold it together;
// an empty meaning is shared by nobody.
type hold struct {
	meaning string
	by      int
}

// take waits until it can have all claims, which are names with their meaning,
// and returns what gives them back.
func (t *scheduler) take(claims map[string]string, alone bool) (release func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.change == nil {
		t.change, t.held = sync.NewCond(&t.mu), map[string]hold{}
	}
	for t.alone || alone && t.inside > 0 || t.taken(claims) {
		t.change.Wait()
	}
	for name, meaning := range claims {
		t.held[name] = hold{meaning, t.held[name].by + 1}
	}
	t.inside++
	t.alone = alone
	return func() { t.giveBack(claims) }
}

func (t *scheduler) taken(claims map[string]string) bool {
	for name, meaning := range claims {
		if h := t.held[name]; h.by > 0 && (meaning == "" || h.meaning != meaning) {
			return true
		}
	}
	return false
}

func (t *scheduler) giveBack(claims map[string]string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name := range claims {
		h := t.held[name]
		if h.by--; h.by == 0 {
			delete(t.held, name)
		} else {
			t.held[name] = h
		}
	}
	t.inside--
	t.alone = false
	t.change.Broadcast()
}
