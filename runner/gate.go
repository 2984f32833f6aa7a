package runner

import "time"

// gatePause is the time between two calls of a gate that admits no job.
const gatePause = time.Second

// enter waits until a further job may start: fewer jobs run than the width allows, and the
// gate admits one or no job runs. It returns false if no more jobs are admitted. A job
// that enters must leave.
func (p *pool) enter() bool {
	shut := ""
	for p.awaitWidth() {
		why := p.gateReason()
		if why == "" {
			if shut != "" {
				p.Log.Warn("starting instances again")
			}
			p.mu.Lock()
			p.running++
			p.mu.Unlock()
			return true
		}
		if shut == "" {
			shut = why
			p.Log.Warn("not starting further instances for now", "why", why)
		}
		p.sleep(gatePause)
	}
	return false
}

// awaitWidth waits until fewer jobs run than the width allows. It returns false if no more
// jobs are admitted.
func (p *pool) awaitWidth() bool {
	for p.open() {
		n, changed := p.Width.now()
		if p.underWay() < n {
			return true
		}
		select {
		case <-p.left:
		case <-changed:
		case <-p.admission.Done():
		}
	}
	return false
}

// gateReason returns why the gate admits no further job; empty if it admits one.
func (p *pool) gateReason() string {
	if p.Gate == nil || p.underWay() == 0 {
		return ""
	}
	return p.Gate()
}

func (p *pool) underWay() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}

func (p *pool) leave() {
	p.mu.Lock()
	p.running--
	p.mu.Unlock()
	select {
	case p.left <- struct{}{}:
	default: // awaitWidth has not received the previous message yet; when it does, it counts all jobs
	}
}
