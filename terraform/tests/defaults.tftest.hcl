# What is made when nothing is set. AWS is mocked: make check needs no account.
mock_provider "aws" {
  source = "./tests/mocks"
}

variables {
  token = "0123456789abcdef0123456789abcdef"
}

run "two_zones" {
  command = apply

  assert {
    condition     = length(aws_instance.host) == 16 && local.vcpus["on-demand"] == 17 # the mocked driver has one
    error_message = "seoul-2az has 16 hosts"
  }

  assert {
    condition     = alltrue([for name, host in aws_instance.host : host.instance_type == "c7g.medium" && host.subnet_id == aws_subnet.zone[local.hosts[name].zone].id])
    error_message = "hosts are in the subnets of their zones, on a type without burst credits"
  }

  assert {
    condition     = aws_subnet.zone["a"].availability_zone == "ap-northeast-2a" && aws_subnet.zone["c"].availability_zone == "ap-northeast-2c"
    error_message = "the zones are 2a and 2c"
  }

  assert {
    condition     = [for host in yamldecode(output.topology).hosts : host.name] == [for host in local.builtin.hosts : host.name if !contains(keys(local.without), host.nodes[0].role)]
    error_message = "the topology has the hosts of the built-in one, in its order"
  }

  assert {
    condition     = alltrue([for host in yamldecode(output.topology).hosts : host.agent == "http://${aws_instance.host[host.name].private_ip}:7500"])
    error_message = "every host of the topology has its agent"
  }

  assert {
    condition     = yamldecode(output.topology).latency == { inside = { rtt = "0s" }, between = { rtt = "0s" } }
    error_message = "the links add no latency where the zones have their own"
  }
}

run "instances_are_shut" {
  assert {
    condition = alltrue([for instance in concat(values(aws_instance.host), [aws_instance.driver]) :
      instance.metadata_options[0].http_tokens == "required" && instance.metadata_options[0].http_put_response_hop_limit == 1 &&
      instance.root_block_device[0].encrypted && !instance.associate_public_ip_address &&
    instance.instance_initiated_shutdown_behavior == "terminate"])
    error_message = "IMDSv2 from the instance alone, encrypted volumes, no public address, ended by their own shutdown"
  }

  assert {
    condition     = alltrue([for subnet in concat(values(aws_subnet.zone), [aws_subnet.control]) : !subnet.map_public_ip_on_launch])
    error_message = "no subnet gives public addresses"
  }

  assert {
    condition     = length(aws_instance.driver.credit_specification) == 0
    error_message = "a type without burst credits gets no mode for them"
  }
}

run "who_may_talk_to_whom" {
  assert {
    condition     = alltrue([for rule in concat(values(aws_vpc_security_group_ingress_rule.flow), values(aws_vpc_security_group_egress_rule.flow)) : rule.cidr_ipv4 == null && rule.cidr_ipv6 == null])
    error_message = "rules name groups, not addresses"
  }

  assert {
    condition     = alltrue([for flow in local.flows : flow.to != "driver" && (flow.from == "driver" || flow.low > local.agent_port || flow.high < local.agent_port)])
    error_message = "nothing comes into the driver, and agents hear the driver alone"
  }

  assert {
    condition     = file("./files/common/etc/sysctl.d/60-locklab.conf") == replace(file("./files/common/etc/sysctl.d/60-locklab.conf"), "/ip_local_port_range = [0-9]+ /", "ip_local_port_range = ${local.node_ports.high + 1} ")
    error_message = "the groups let through what is below the ephemeral ports of the instances"
  }
}

run "what_roles_may_do" {
  assert {
    condition = alltrue(flatten([for policy in concat(values(aws_iam_role_policy.lab), values(aws_iam_role_policy.stop)) : [
      for statement in jsondecode(policy.policy).Statement : [for action in flatten([statement.Action]) : !strcontains(action, "*")]
    ]]))
    error_message = "each permission is one action"
  }

  assert {
    condition = alltrue(flatten([for policy in values(aws_iam_role_policy.lab) : [
      for statement in jsondecode(policy.policy).Statement : !contains(flatten([statement.Resource]), "*") || statement.Sid == "SessionManager"
    ]]))
    error_message = "instances may call on everything only what Session Manager needs"
  }

  assert {
    condition     = !strcontains(aws_iam_role_policy.lab["host"].policy, "ec2:") && !strcontains(aws_iam_role_policy.lab["driver"].policy, "fis:")
    error_message = "hosts may do nothing to instances, and the driver breaks nothing without fis_enabled"
  }

  assert {
    condition = alltrue(flatten([for policy in values(aws_iam_role_policy.stop) : [
      for statement in jsondecode(policy.policy).Statement : can(statement.Condition) || !contains(statement.Resource, "*") || alltrue([for action in statement.Action : startswith(action, "ec2:Describe")])
    ]]))
    error_message = "the hard stop ends only what has the lab's tag"
  }

  assert {
    condition     = [for statement in jsondecode(aws_s3_bucket_policy.lab.policy).Statement : statement.Effect] == ["Deny"] && aws_s3_bucket_public_access_block.lab.block_public_policy && aws_s3_bucket_public_access_block.lab.restrict_public_buckets
    error_message = "the bucket's policy gives nothing away"
  }
}

run "an_end_for_everything" {
  assert {
    condition     = aws_scheduler_schedule.stop.schedule_expression == "at(${formatdate("YYYY-MM-DD'T'hh:mm:ss", timeadd(output.deadline, "15m"))})" && aws_ssm_parameter.deadline.value == output.deadline
    error_message = "instances end at the deadline, and what is left a quarter of an hour later"
  }

  assert {
    condition     = [for step in jsondecode(aws_ssm_document.stop.content).mainSteps : step.inputs.Api] == ["DescribeVpcEndpoints", "DeleteVpcEndpoints", "DescribeInstances", "TerminateInstances"]
    error_message = "the hard stop ends endpoints and instances"
  }

  assert {
    condition = alltrue([for step in jsondecode(aws_ssm_document.stop.content).mainSteps :
    step.onFailure == "Continue" && (!can(step.inputs.Filters) || contains([for filter in try(step.inputs.Filters, []) : jsonencode(filter)], jsonencode({ Name = "tag:Lab", Values = ["locklab"] })))])
    error_message = "it finds them by their tag, and one that is gone does not keep it"
  }

  assert {
    condition     = !strcontains(jsonencode(local.host_boot), output.deadline) && timecmp(output.deadline, timeadd(plantimestamp(), "4h")) <= 0
    error_message = "hosts are not replaced when the deadline is extended"
  }
}

# What the plan of another day would do: another clock, another commit, another token.
run "a_second_apply_changes_no_host" {
  variables {
    commit = "0123456789abcdef0123456789abcdef01234567"
    token  = "fedcba9876543210fedcba9876543210"
  }

  assert {
    condition     = output.hosts == run.two_zones.hosts && output.driver_id == run.two_zones.driver_id && output.deadline == run.two_zones.deadline
    error_message = "a commit that changes no code, or a new token, replaces no host and moves no deadline"
  }

  assert {
    condition     = alltrue([for token in ["0123456789abcdef0123456789abcdef", "fedcba9876543210fedcba9876543210"] : !strcontains(nonsensitive(jsonencode([aws_ssm_parameter.token, local.host_boot, local.driver_boot])), token)])
    error_message = "the token is neither in the state nor in what boots"
  }
}

run "a_longer_lab_keeps_its_hosts" {
  variables {
    max_hours = 12
  }

  assert {
    condition     = output.hosts == run.two_zones.hosts && output.driver_id == run.two_zones.driver_id && timecmp(output.deadline, timeadd(run.two_zones.deadline, "8h")) >= 0
    error_message = "an extended deadline replaces no host"
  }
}

run "user_data" {
  assert {
    condition = { for name, data in local.host_boot : name => regex("PACKAGES=\"(.*)\"\nPROGRAMS=\"(.*)\"", yamldecode(data).write_files[0].content) } == { for name, host in local.hosts :
    name => host.role == "redis" ? ["redis6", "redis-server=redis6-server,valkey-server"] : ["", ""] }
    error_message = "hosts install what their role has a use for"
  }

  assert {
    condition     = alltrue([for data in values(local.host_boot) : toset(yamldecode(data).write_files[*].path) == toset(concat(["/etc/locklab/lab.env"], keys(local.files.common), keys(local.files.host)))])
    error_message = "every file of files/common and files/host reaches each host"
  }

  assert {
    condition     = !contains(yamldecode(local.driver_boot).write_files[*].path, "/opt/locklab/bin/fis-start")
    error_message = "the driver cannot break a zone without fis_enabled"
  }
}

# make extend, which must change nothing else.
run "extended" {
  plan_options {
    replace = [terraform_data.deadline]
    target  = [aws_scheduler_schedule.stop, aws_ssm_parameter.deadline]
  }

  assert {
    condition     = timecmp(output.deadline, run.two_zones.deadline) > 0 && output.hosts == run.two_zones.hosts
    error_message = "extending moves the deadline and replaces no host"
  }
}
