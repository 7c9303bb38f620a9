data "aws_ssm_parameter" "ami" {
  name = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-${var.architecture}"
}

locals {
  ami = data.aws_ssm_parameter.ami.insecure_value # not a secret: everybody may read it

  # Below files/ are directories of what kinds of instances have, each file at its place.
  files = { for kind in ["common", "host", "driver", "fis"] : kind => {
    for name in fileset("${path.module}/files/${kind}", "**") : "/${name}" => file("${path.module}/files/${kind}/${name}")
  } }

  # /etc/locklab/lab.env. Nothing that changes while a lab stands, as instances are
  # replaced with their user data.
  settings = {
    REGION             = var.region
    BUCKET             = aws_s3_bucket.lab.id
    BINARY_KEY         = local.binary_key
    BINARY_SHA256      = local.binary_sha256
    TOKEN_PARAMETER    = aws_ssm_parameter.token.name
    DEADLINE_PARAMETER = aws_ssm_parameter.deadline.name
  }

  host_boot = { for name, host in local.hosts : name => templatefile("${path.module}/templates/user-data.yaml.tftpl", {
    files = merge(local.files.common, local.files.host)
    settings = merge(local.settings, {
      NAME       = name
      ZONE       = host.zone
      AGENT_PORT = local.agent_port
      ECHO_PORT  = local.echo_port
      UNITS      = "locklab-agent.service"
      PACKAGES   = join(" ", host.packages)
      # What agents look for, and what the packages may call it: redis-server=redis6-server,valkey-server.
      PROGRAMS = join(" ", flatten([for software in host.software : [for name, names in try(software.programs, {}) : "${name}=${join(",", names)}"]]))
    })
  }) }

  # Packed, as EC2 takes 16 KiB.
  host_user_data = { for name, text in local.host_boot : name => base64gzip(text) }
}

resource "aws_instance" "host" {
  for_each = local.hosts

  ami                                  = local.ami
  instance_type                        = each.value.type
  subnet_id                            = aws_subnet.zone[each.value.zone].id
  vpc_security_group_ids               = [aws_security_group.lab["hosts"].id]
  associate_public_ip_address          = false
  iam_instance_profile                 = aws_iam_instance_profile.lab["host"].name
  instance_initiated_shutdown_behavior = "terminate"                    # so that the instance's own timer ends its costs
  user_data_base64                     = local.host_user_data[each.key] # cloud-init unpacks it
  user_data_replace_on_change          = true

  metadata_options {
    http_endpoint               = "enabled"
    http_tokens                 = "required"
    http_put_response_hop_limit = 1
  }

  root_block_device {
    encrypted   = true
    volume_type = "gp3"
    volume_size = var.volume_gib
  }

  # Slower without credits, but neither a bill for more nor figures that depend on them.
  dynamic "credit_specification" {
    for_each = data.aws_ec2_instance_type.used[each.value.type].burstable_performance_supported ? ["standard"] : []

    content {
      cpu_credits = credit_specification.value
    }
  }

  dynamic "instance_market_options" {
    for_each = var.spot ? ["spot"] : []

    content {
      market_type = instance_market_options.value

      spot_options {
        spot_instance_type             = "one-time"
        instance_interruption_behavior = "terminate"
      }
    }
  }

  tags        = { Name = "${var.name}-${each.key}", Host = each.key, Zone = each.value.zone, Role = each.value.role }
  volume_tags = { Lab = var.name, Name = "${var.name}-${each.key}" }

  lifecycle {
    ignore_changes = [ami] # a new image while a lab stands is no reason to rebuild it

    precondition {
      condition     = length(local.host_user_data[each.key]) * 3 / 4 <= 16384
      error_message = "The user data of ${each.key} is longer than the 16 KiB that EC2 takes."
    }
  }

  # It boots with what these give it, and not before there is an end to it.
  depends_on = [
    aws_scheduler_schedule.stop, terraform_data.checked,
    aws_iam_role_policy.lab, aws_s3_object.binary, aws_vpc_endpoint.api, aws_vpc_endpoint.s3, aws_route_table_association.zone,
    aws_vpc_security_group_egress_rule.flow, aws_vpc_security_group_egress_rule.s3, aws_vpc_security_group_ingress_rule.flow,
  ]
}
