package runner

import "time"

// gatePause is how long a gate that was closed is left alone.
const gatePause = time.Second

// enter waits until a further job may start: the width has room, and the gate
// is open or nothing else runs. It is false when nothing more is admitted. What
// enters must leave.
func (p *pool) enter() bool {
	told := ""
	for p.roomy() {
		why := p.shut()
		if why == "" {
			if told != "" {
				p.Log.Warn("admitting instances again")
			}
			p.mu.Lock()
			p.running++
			p.mu.Unlock()
			return true
		}
		if told == "" {
			told = why
			p.Log.Warn("admitting no further instance for now", "why", why)
		}
		p.sleep(gatePause)
	}
	return false
}

// roomy waits until fewer jobs run than the width allows. It is false when
// nothing more is admitted.
func (p *pool) roomy() bool {
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

// shut says why the gate admits no further job; empty means that it does.
func (p *pool) shut() string {
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
	default: // it has not been heard of the one before, and looks at all
	}
}
