# Reads what gotestsum wrote of one step (-v step=NAME FILE.json) and prints how each test
# ended: pass, fail or skip, and flaky for one that failed and passed when it was repeated.
# What those that failed said last is appended to a file (-v said=FILE). A package can fail
# without a test: it does not build, or does not end well.
function value(key) {
  if (!match($0, "\"" key "\":\"[^\"]*\"")) return ""
  return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 5)
}

# output is one line of a test's, as it was before it became JSON.
function output(text) {
  text = substr($0, index($0, "\"Output\":\"") + 10)
  sub(/"(,"OutputType":"[^"]*")?[}]$/, "", text)
  sub(/(\\r)?\\n$/, "", text)
  gsub(/\\u003c/, "<", text); gsub(/\\u003e/, ">", text); gsub(/\\u0026/, "\\&", text)
  gsub(/\\u001b\[[0-9;]*[A-Za-z]/, "", text)
  gsub(/\\t/, "    ", text); gsub(/\\"/, "\"", text); gsub(/\\\\/, "\\", text)
  return length(text) > width ? substr(text, 1, width) " ..." : text
}

BEGIN { lines = 40; width = 600 }

{
  package = value("Package")
  if (package == "") package = value("ImportPath") # of what was built
  sub(/ .*/, "", package)
  whole = step " " package
  test = value("Test")
  id = test == "" ? whole : whole " " test
  action = value("Action")
}

action == "run" { n[id] = 0 }

action ~ /output$/ && index($0, "\"Output\":\"") {
  text = output()
  if (text !~ /^=== (RUN|PAUSE|CONT|NAME)/) line[id, n[id]++ % lines] = text
}

action ~ /fail$/ {
  told[id] = ""
  for (i = n[id] > lines ? n[id] - lines : 0; i < n[id]; i++) told[id] = told[id] "   " line[id, i % lines] "\n"
}

action ~ /^(pass|fail|skip|build-fail)$/ {
  sub(/build-/, "", action)
  if (test != "" && action == "pass" && last[id] == "fail") print "flaky", id
  last[id] = action
  if (test != "") in_package[id] = whole
}

END {
  for (id in in_package) {
    print last[id], id
    if (last[id] == "fail") explained[in_package[id]] = 1
  }
  for (id in told) if (last[id] == "pass" && id in in_package) printf "-- flaky: %s\n%s", id, told[id] >>said
  for (id in told) if (last[id] == "fail" && !(id in explained)) printf "-- %s\n%s", id, told[id] >>said
}
