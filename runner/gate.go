package runner

import "time"

// gatePause is the time between two calls of a gate that admits no job.
const gatePause = time.Second

// enter waits until a further job may start: fewer jobs run than the width allows, and the
// gate admits one or no job runs. It returns false if no more jobs are admitted. A job
// that enters must leave.
func (p *pool) enter() bool {
	shut := ""
	for p.Pause.wait(p.admission) == nil && p.awaitWidth() {
		why := p.gateReason()
		switch {
		case why != "":
			if shut == "" {
				shut = why
				p.Log.Warn("not starting further instances for now", "why", why)
			}
			p.sleep(p.admission, gatePause)
		case p.Pause.On():
		case p.Width.take(): // another pool may have been faster
			if shut != "" {
				p.Log.Warn("starting instances again")
			}
			return true
		}
	}
	return false
}

// awaitWidth waits until fewer jobs run than the width allows. It returns false if no more
// jobs are admitted.
func (p *pool) awaitWidth() bool {
	for p.open() {
		ok, changed := p.Width.free()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-p.admission.Done():
		}
	}
	return false
}

// gateReason returns why the gate admits no further job; empty if it admits one.
func (p *pool) gateReason() string {
	if p.Gate == nil || p.Width.idle() {
		return ""
	}
	return p.Gate()
}
