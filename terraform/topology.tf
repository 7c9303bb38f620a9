# The hosts, read from the topologies and the roles of the lab itself: an addition there
# needs nothing here.
locals {
  lab_roles   = ["master", "worker"] # every run has them; the others are the locks' servers
  builtin     = try(yamldecode(file("${path.module}/../nodes/topology/builtin/${var.topology}.yaml")), { summary = "", zones = [], hosts = [] })
  zones       = [for zone in local.builtin.zones : zone.short]
  zone_names  = { for zone in local.zones : zone => "${var.region}${zone}" }
  all_servers = [for role in distinct(flatten(local.builtin.hosts[*].nodes[*].role)) : role if !contains(local.lab_roles, role)]
  roles       = concat(local.lab_roles, var.servers)

  # What hosts install to play a role, as the role's own directory says.
  software = { for text in [for name in fileset("${path.module}/../nodes", "*/packages*.yaml") : yamldecode(file("${path.module}/../nodes/${name}"))] :
    text.role => text["amazon-linux-2023"]
  }
  unavailable = { for role in local.all_servers : role => local.software[role].unavailable if can(local.software[role].unavailable) }

  # Why the topology lacks servers: locklab run says it when their locks are named.
  without = { for role in local.all_servers : role => try(local.unavailable[role],
    "this lab was made without it: add it to servers in terraform.tfvars and apply again")
    if !contains(var.servers, role)
  }

  # Every wanted node, in the topology's order of roles and zones, which is the order that
  # nodes are told in. host_counts replaces those of a role and a zone.
  node_list = flatten([for role in distinct(flatten(local.builtin.hosts[*].nodes[*].role)) : [for zone in local.zones : [
    for found in [flatten([for host in local.builtin.hosts : [for node in host.nodes : node.name if node.role == role] if host.zone == zone])] : [
      for name in try(var.host_counts[role][zone], length(found)) == length(found) ? found : [
        for i in range(var.host_counts[role][zone]) : var.host_counts[role][zone] == 1 ? "${role}-${zone}" : "${role}-${zone}-${i + 1}"
      ] : { name = name, role = role, zone = zone, host = var.size == "small" ? "host-${zone}" : name }
  ]]] if contains(local.roles, role)])

  host_list = [for name in distinct(local.node_list[*].host) : {
    name  = name
    zone  = [for node in local.node_list : node.zone if node.host == name][0]
    nodes = [for node in local.node_list : { name = node.name, role = node.role } if node.host == name]
  }]

  # Where things listen on a host. Nodes get ports below the ephemeral ones, which the
  # sysctl of the instances moves up so that one range remains.
  agent_port = 7500
  echo_port  = 7501
  node_ports = { low = 10000, high = 32767 }

  # The controller works with the hosts that were made, at their addresses. Real zones
  # have latency of their own, so the links add none. JSON is YAML too.
  topology_file = jsonencode({
    name    = var.topology
    summary = local.builtin.summary
    zones   = [for zone in local.zones : { name = local.zone_names[zone], short = zone }]
    latency = { inside = { rtt = "0s" }, between = { rtt = "0s" } }
    without = local.without
    hosts   = [for host in local.host_list : merge(host, { agent = "http://${aws_instance.lab[host.name].private_ip}:${local.agent_port}" })]
  })
}
