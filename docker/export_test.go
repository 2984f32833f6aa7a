package docker

import "time"

// Impatient sets with limitOf how long a call of e may wait for its answer. Use
// it before the first call.
func (e *Engine) Impatient(limitOf func(method, path string) time.Duration) { e.conn.LimitOf = limitOf }
