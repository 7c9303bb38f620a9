# The hosts, and the driver, which runs the controller: it makes the load, breaks things,
# judges, and uploads the report. The driver is on demand also where the hosts are on Spot.
data "aws_ssm_parameter" "ami" {
  name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-${var.architecture}"
}

locals {
  instances = merge(
    { for host in local.host_list : host.name => {
      type   = var.instance_type
      zone   = host.zone
      subnet = host.zone
      kind   = "host"
      market = var.spot ? "spot" : "on-demand"
      tags   = { Zone = host.zone } # as of subnets
    } },
    { driver = { type = var.driver_instance_type, zone = local.zones[0], subnet = "control", kind = "driver", market = "on-demand", tags = {} } },
  )

  # Below files/ are directories of what kinds of instances have, each file at its place.
  files = { for kind in ["common", "host", "driver", "fis"] : kind => {
    for name in fileset("${path.module}/files/${kind}", "**") : "/${name}" => file("${path.module}/files/${kind}/${name}")
  } }

  # /etc/locklab/lab.env. Nothing that changes while a lab stands, as instances are
  # replaced with their user data.
  settings = {
    REGION             = var.region
    BUCKET             = aws_s3_bucket.lab.id
    BINARY_KEY         = aws_s3_object.binary.key
    BINARY_SHA256      = local.binary_sha256
    TOKEN_PARAMETER    = aws_ssm_parameter.token.name
    DEADLINE_PARAMETER = aws_ssm_parameter.deadline.name
    AGENT_PORT         = local.agent_port
    ECHO_PORT          = local.echo_port
  }

  installed = { for host in local.host_list : host.name => [for role in distinct(host.nodes[*].role) : local.software[role] if can(local.software[role].packages)] }

  boot = { for name, i in local.instances : name => templatefile("${path.module}/templates/user-data.yaml.tftpl", {
    files = merge(local.files.common, local.files[i.kind], var.fis_enabled && i.kind == "driver" ? local.files.fis : {})
    settings = merge(local.settings, {
      NAME     = name
      ZONE     = i.zone
      UNITS    = i.kind == "host" ? "locklab-agent.service" : "locklab-secrets.service"
      PACKAGES = join(" ", distinct(flatten([for software in lookup(local.installed, name, []) : software.packages])))
      # What agents look for, and what the packages may call it: redis-server=redis6-server,valkey-server.
      PROGRAMS = join(" ", distinct(flatten([for software in lookup(local.installed, name, []) : [for program, names in try(software.programs, {}) : "${program}=${join(",", names)}"]])))
    })
  }) }
  user_data = { for name, text in local.boot : name => base64gzip(text) } # cloud-init unpacks it
}

resource "aws_instance" "lab" {
  for_each = local.instances

  ami                         = data.aws_ssm_parameter.ami.insecure_value # not a secret
  instance_type               = each.value.type
  subnet_id                   = aws_subnet.lab[each.value.subnet].id
  vpc_security_group_ids      = [aws_security_group.lab[each.value.kind].id]
  associate_public_ip_address = false
  iam_instance_profile        = aws_iam_instance_profile.lab[each.value.kind].name
  user_data_base64            = local.user_data[each.key]
  user_data_replace_on_change = true

  # The instance's own timer ends its costs. The provider sets this on a Spot instance
  # after it was made; one-time Spot instances cannot stop anyway.
  instance_initiated_shutdown_behavior = each.value.market == "spot" ? null : "terminate"

  metadata_options {
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = 10
  }

  # Slower without credits, but neither a bill for more nor figures that depend on them.
  dynamic "credit_specification" {
    for_each = data.aws_ec2_instance_type.used[each.value.type].burstable_performance_supported ? ["standard"] : []

    content {
      cpu_credits = credit_specification.value
    }
  }

  dynamic "instance_market_options" {
    for_each = each.value.market == "spot" ? ["spot"] : []

    content {
      market_type = instance_market_options.value # one-time, as it is by default
    }
  }

  tags        = merge(each.value.tags, { Name = "${var.name}-${each.key}", Host = each.key })
  volume_tags = { Lab = var.name, Name = "${var.name}-${each.key}" }

  lifecycle {
    ignore_changes = [ami] # a new image while a lab stands is no reason to rebuild it
  }

  # It boots with what these give it, and not before there is an end to it.
  depends_on = [
    aws_scheduler_schedule.stop, terraform_data.checked,
    aws_iam_role_policy.lab, aws_vpc_endpoint.api, aws_vpc_endpoint.s3, aws_route_table_association.lab,
    aws_vpc_security_group_egress_rule.flow, aws_vpc_security_group_egress_rule.s3, aws_vpc_security_group_ingress_rule.flow,
  ]
}
