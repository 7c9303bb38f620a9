// Package reference compares links with toxiproxy itself, in tests alone.
package reference
