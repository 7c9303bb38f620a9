package link

import "cmp"

// Pretend has the links believe that an impairment is in force, which is not, until it is
// asked what contradicts that.
func (h *Host) Pretend(i Impairment) (contradicted func() string) {
	each := func(f func(*link)) {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, l := range h.links {
			l.mu.Lock()
			f(l)
			l.mu.Unlock()
		}
	}
	each(func(l *link) { l.watch(i) })
	return func() (text string) {
		each(func(l *link) { text = cmp.Or(text, l.unwatch(i.ID)) })
		return text
	}
}

// KindOf and NewEffect are as the package has them.
var (
	KindOf    = kindOf
	NewEffect = newEffect
)
