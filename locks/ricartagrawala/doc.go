// Package ricartagrawala is the mutual exclusion algorithm of Ricart and Agrawala of
// 1981 as a lock for a small cluster of peers. Its core, with what it promises and what
// not, is that of package lamport: a peer answers a request at once unless it holds the
// lock or asked for it earlier, and then defers its answer.
package ricartagrawala
