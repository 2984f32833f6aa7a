package docker

import "time"

// Impatient lets limitOf say how long a call of e may wait for its answer. Call
// it before the first of them.
func (e *Engine) Impatient(limitOf func(method, path string) time.Duration) { e.conn.LimitOf = limitOf }
