# Who may talk to whom. What is not here is refused, in both directions; names,
# time and instance metadata come from link-local addresses that groups do not see.
locals {
  flows = {
    control    = { from = "driver", to = "host", low = local.agent_port, high = local.agent_port, why = "controller to agents" }
    players    = { from = "driver", to = "host", low = local.node_ports.low, high = local.node_ports.high, why = "players to masters, questions to lock servers" }
    nodes      = { from = "host", to = "host", low = local.node_ports.low, high = local.node_ports.high, why = "links to nodes" }
    echo       = { from = "host", to = "host", low = local.echo_port, high = local.echo_port, why = "probes that prove faults" }
    host-api   = { from = "host", to = "endpoints", low = 443, high = 443, why = "token, Session Manager" }
    driver-api = { from = "driver", to = "endpoints", low = 443, high = 443, why = "token, Session Manager, fault injection" }
  }
}

resource "aws_security_group" "lab" {
  for_each = {
    host      = "Hosts of the topology"
    driver    = "Driver: nothing comes in"
    endpoints = "Endpoints of AWS services"
  }

  name        = "${var.name}-${each.key}"
  description = each.value
  vpc_id      = aws_vpc.lab.id
}

resource "aws_vpc_security_group_ingress_rule" "flow" {
  for_each = local.flows

  security_group_id            = aws_security_group.lab[each.value.to].id
  referenced_security_group_id = aws_security_group.lab[each.value.from].id
  ip_protocol                  = "tcp"
  from_port                    = each.value.low
  to_port                      = each.value.high
  description                  = each.value.why
}

resource "aws_vpc_security_group_egress_rule" "flow" {
  for_each = local.flows

  security_group_id            = aws_security_group.lab[each.value.from].id
  referenced_security_group_id = aws_security_group.lab[each.value.to].id
  ip_protocol                  = "tcp"
  from_port                    = each.value.low
  to_port                      = each.value.high
  description                  = each.value.why
}

resource "aws_vpc_security_group_egress_rule" "s3" {
  for_each = toset(["host", "driver"])

  security_group_id = aws_security_group.lab[each.key].id
  prefix_list_id    = aws_vpc_endpoint.s3.prefix_list_id
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
  description       = "bucket and packages"
}
